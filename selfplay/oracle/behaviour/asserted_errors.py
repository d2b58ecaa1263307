"""The errors that F2P tests ask for by name: what specifies that a repair raises these and no others."""

import ast
import json
from collections.abc import Collection, Iterator, Mapping

from selfplay.oracle.behaviour.python_probes import called
from selfplay.oracle.behaviour.stored_behaviour import WRONG_KIND
from selfplay.oracle.rewriting.python_claims import RAISES
from selfplay.oracle.rewriting.python_trees import WantedTests, find, parsed
from selfplay.plain_text import decode
from selfplay.workbench.files import TestFile


def asserted_errors(files: Mapping[str, TestFile], fail_to_pass: Collection[str]) -> frozenset[str]:
    """The errors with which these tests say that something fails, each as the outcome of a call that raises it."""
    found = set[str]()
    for path, file in files.items():
        tree, asked = parsed(decode(file.content)), WantedTests(path, fail_to_pass)
        for test in (test for test in (find(tree) if tree is not None else ()) if asked.has(*test)):
            found |= {json.dumps(["raised", name]) for name in _asserted(test[0])}
    return frozenset(found - {WRONG_KIND})


def _asserted(test: ast.AST) -> Iterator[str]:
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and node.args and called(node) in RAISES:
            kinds = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args[:1]
            yield from (name for kind in kinds if (name := getattr(kind, "attr", getattr(kind, "id", ""))))
