"""Probes for tests that hold no inputs of their own, as where cases come from files: calls seen under the F2P tests.

One run of the original writes the calls down, as source of literals and of objects whose making was seen
(`inside/selfplay_calls.py`). Each becomes a small test, which is varied and recorded like any other probe. A prediction
may rename or remove a function that no test calls: such a probe does not count.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfplay import patches
from selfplay.answers import AnswerError, answer
from selfplay.oracle import inside
from selfplay.oracle.events import areas, paths_of_tests
from selfplay.oracle.originals import original_texts
from selfplay.oracle.python_probes import Probed, probed
from selfplay.oracle.python_trees import parsed
from selfplay.oracle.world import Task
from selfplay.patches.changes import changes
from selfplay.patches.functions import function_at, functions
from selfplay.sandbox import WORKDIR

CALLS_FILE = "/tmp/selfplay-calls"
MOST_CALLS = 24
_MODULE = re.compile(r"selfplay_m\d+")
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Calls:
    """What the plugin wrote: module -> the name it is imported under, and (source, test) of each call."""

    modules: dict[str, str]
    calls: list[tuple[str, str]]


def plugin(task: Task, fail_to_pass: Sequence[str]) -> str:
    """The plugin that writes down the calls."""
    tests = areas(paths_of_tests(task.artifact.test_files, (task.artifact.bug_inject,)))
    order = {"root": WORKDIR, "tests": tests, "wanted": list(fail_to_pass), "changed": changed_functions(task)}
    return f"ORDER = {json.dumps(order)!r}\n\n\n{inside.text('selfplay_calls.py')}"


def changed_functions(task: Task) -> list[tuple[str, str]]:
    """(path, name) of the original's functions that the bug changes."""
    sections = patches.parse(task.artifact.bug_inject)
    texts = original_texts(task.world, [section.path for section in sections])
    found = set()
    for section in sections:
        known = functions(section.path, texts.get(section.path, ""))
        for change in (change for hunk in section.hunks for change in changes(hunk)):
            named = {function_at(known, line).rpartition(".")[2] for line in change.lines}
            found |= {(section.path, name) for name in named if name}
    return sorted(found)


def read_calls(data: bytes) -> Calls:
    """What the plugin wrote; none for anything else."""
    try:
        found = answer(Calls, data)
    except AnswerError:
        return Calls({}, [])
    names = {module: name for module, name in found.modules.items()
             if _PATH.fullmatch(module) and _MODULE.fullmatch(name)}  # fmt: skip
    return Calls(names, [(source, test) for source, test in found.calls if _expression(source)])


def _expression(source: str) -> bool:
    tree = parsed(source)
    return tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)


def of_calls(path: str, found: Calls, most: int, seed: int) -> Probed | None:
    """The file at `path` with at most `most` probes made of the calls; None where there is none."""
    chosen, tests = _spread(found.calls)[:MOST_CALLS], list[str]()
    used = {name for source in chosen for name in _MODULE.findall(source)}
    text = "".join(_imported(module, name) for module, name in found.modules.items() if name in used)
    for number, source in enumerate(chosen):
        text += f"\n\ndef test_call_{number}():\n    selfplay_needs(lambda: {_called(source)})\n    assert {source}\n"
        tests.append(f"{path}::test_call_{number}")
    return probed(path, text, tests, most, seed, kept=True) if tests else None


def _imported(module: str, name: str) -> str:
    return f"try:\n    import {module} as {name}\nexcept ImportError:\n    {name} = None\n"


def _called(source: str) -> str:
    """What a call calls, without its arguments: `m.Parser` of `m.Parser(1).parse('a')`."""
    node: ast.AST = ast.parse(source, mode="eval").body
    while isinstance(node, ast.Call):
        node = node.func
        inner = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        if isinstance(inner, ast.Call):
            node = inner
    return ast.unparse(node)


def _spread(calls: Sequence[tuple[str, str]]) -> list[str]:
    """The calls by turns of what they call: a hundred calls of one function show less than some of each."""
    groups: Mapping[str, list[str]] = defaultdict(list)
    for source, _ in calls:
        groups[_MODULE.sub("", source.partition("(")[0])].append(source)
    turns = max((len(group) for group in groups.values()), default=0)
    return [group[turn] for turn in range(turns) for group in groups.values() if turn < len(group)]
