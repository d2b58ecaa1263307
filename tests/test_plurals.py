"""A number before a noun is told by `count`: one file, two files. Looked for in every text of the package."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path for path in [*ROOT.glob("selfplay/**/*.py"), *ROOT.glob("validators/*.py")] if "inside" not in path.parts
)
NOUNS = (
    "answers|artifacts|attempts|bugs|calls|changes|commits|cores|episodes|errors|files|folders|functions|groups|hosts"
    "|hunks|ids|inputs|jobs|lessons|lines|links|messages|models|names|nodes|parts|paths|predictions|probes|processes"
    "|proposers|releases|repositories|requests|rewards|rows|runs|samples|sandboxes|seats|sequences|shards|solvers"
    "|statements|steps|submodules|tasks|tensors|tests|texts|times|tokens|tries|updates|values|words"
)
PLURAL = re.compile(rf"^ (?:[a-z]+ ){{0,2}}?({NOUNS})\b")
VERB = re.compile(r"^ (?:still )?(are|were|have|do|fail|pass|exist|behave) ")
NUMBER = re.compile(r"(^|\.|_)(number|total|calls|times|rows|vain|used|left)$")
ALWAYS_MORE = {
    "selfplay/report/quality.py": "`times` says once and twice",
    "selfplay/agent/chat_format.py": "a text that is cut has thousands",
    "selfplay/report/evaluation.py": "a mean, as 1.0",
    "selfplay/sandbox/messages.py": "read inside a sandbox, where nothing of ours is imported",
    "selfplay/scripted/injector/removal.py": "told only of several",
    "selfplay/scripted/tree_sitter/removals.py": "the same",
}
"""Files with such a number that is never one, and why."""


def parts(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Every value in a text that is put together, and the text behind it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for value, behind in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(behind, ast.Constant):
                    yield value.value, str(behind.value)


def is_number(value: ast.expr) -> bool:
    """Whether it looks like one: a length, a sum, or a name that numbers have."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("len", "sum")
    if isinstance(value, ast.BinOp):
        return is_number(value.left) or is_number(value.right)
    return bool(NUMBER.search(ast.unparse(value)))


def wrong(text: str) -> list[str]:
    """The places of a program where a number stands before words that are right for two and wrong for one."""
    found = []
    for value, behind in parts(ast.parse(text)):
        if (PLURAL.search(behind) or VERB.search(behind)) and is_number(value):
            found.append(f"{{{ast.unparse(value)}}}{behind[:30]}")
    return found


@pytest.mark.parametrize(
    "text",
    [
        "f'the build changed {len(changed)} tracked files, restored'",
        "f'{len(paths)} uncommitted changes were not taken'",
        "f'[{self.calls} calls and 5 s left]'",
        "f'{len(survivors)} still pass now'",
    ],
)
def test_what_is_wrong_is_seen(text: str) -> None:
    assert wrong(text)


def test_what_is_right_is_not() -> None:
    assert wrong("f\"{count(len(found), 'file')} of {len(found)}, {name} files, {len(found)} of them\"") == []


def test_no_message_says_1_files() -> None:
    found = {str(path.relative_to(ROOT)): wrong(path.read_text()) for path in FILES}
    told = {path: places for path, places in found.items() if places}
    assert {path: places for path, places in told.items() if path not in ALWAYS_MORE} == {}
    assert set(ALWAYS_MORE) <= set(told), "this exception is no longer needed"
