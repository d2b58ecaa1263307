"""Finds which calls of the tests reach the changed functions, in runs of the original only.

`inside/selfplay_entered.py` is appended to test files, so that it works with every runner.
"""

import ast
import json
import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from selfplay import patches
from selfplay.oracle import inside
from selfplay.oracle.behaviour.module_changes import NamesOfAModule
from selfplay.oracle.originals import original_texts
from selfplay.oracle.rewriting.python_trees import Function, loaded, parsed, source_of, unparsed
from selfplay.oracle.task import Task
from selfplay.patches.changes import changes
from selfplay.patches.functions import functions
from selfplay.python_source import short_tree, syntax_tree
from selfplay.sandbox import WORKDIR
from selfplay.untrusted_json import AnswerError, answer

_BEFORE = ("setUp", "setUpClass", "asyncSetUp", "setup_method", "setup_class", "setup_function", "setup_module")
ENTERED_FILE = "/tmp/selfplay-entered"
MOST_CALLS, LONGEST_CALL = 3000, 6000
"""Calls that the recorder keeps, and characters of one (`inside/selfplay_entered.py`)."""
_PARTS = ("functions", "written", "calls", "inputs", "entered")
_TAKEN = {name: name for name in ("selfplay_enter", "selfplay_leave", "SelfplayStopped")}
"""What the tests call of the watch."""
_WATCHING = "\n\n".join(inside.text(f"selfplay_{name}.py") for name in _PARTS)


@dataclass(frozen=True)
class Entered:
    """`python`, `paths`: how to load the program. `modules`: module -> its name in the calls. `calls`: calls that reach
    the changed functions, as source -> the test that made it. `beside`: calls that reach only other functions of the
    changed files. `helpers`: modules of the tests, with their files. `reached`: test -> digests of the arguments that
    reach the changed functions. `stopped`: tests that took too long, and were ended."""

    python: str = ""
    paths: tuple[str, ...] = ()
    modules: dict[str, str] = field(default_factory=dict)
    calls: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()
    helpers: dict[str, str] = field(default_factory=dict)
    reached: dict[str, list[str]] = field(default_factory=dict)
    stopped: tuple[str, ...] = ()

    def ordered(self, most: int, wanted: Collection[str], seed: int) -> tuple[str, ...]:
        """At most `most` calls, first those that these tests make."""
        asked = set(re.findall(r"\w+", " ".join(test.split("[")[0] for test in wanted)))
        calls = random.Random(seed).sample(self.calls, len(self.calls))
        return tuple(source for source, test in sorted(calls, key=lambda call: call[1] not in asked))[:most]

    @property
    def digests(self) -> frozenset[str]:
        return frozenset(digest for found in self.reached.values() for digest in found)


def watching(task: Task, text: str) -> str:
    """The test file, extended so that its tests record how they enter the program; each test announces itself first."""
    order = {"root": WORKDIR, "tests": sorted(task.artifact.test_files), "changed": changed_lines(task)}
    tree = parsed(text)
    for function in _watched(tree) if tree is not None else ():
        name = function.name if function.name.startswith("test") else ""
        at = int(ast.get_docstring(function) is not None)
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)):
            entering = short_tree(f"selfplay_enter({name!r})").body  # it goes on after the test: no end here
            function.body[at:at] = entering
        else:
            bounded = bool(name) and isinstance(function, ast.FunctionDef)
            function.body[at:] = _ended(function.body[at:] or [ast.Pass()], name, bounded)
    try:
        text = unparsed(tree) if tree is not None else text
    except RecursionError:
        return text
    return f"{text}\n\n{watcher(order)}"


def watcher(order: Mapping[str, object]) -> str:
    """What a test file ends with. It has names of its own: a test file may call simplejson `json`, or have taken `time`
    from `time`, and its tests would go on with ours."""
    return inside.apart(f"SELFPLAY_ORDER = {json.dumps(order)!r}\n\n{_WATCHING}", "selfplay_watcher", _TAKEN)


def _ended(body: list[ast.stmt], name: str, bounded: bool) -> list[ast.stmt]:
    """The body of a test that says when it begins and ends. `bounded`: it is ended when it takes too long."""
    stopped = [ast.ExceptHandler(loaded("SelfplayStopped"), None, [ast.Pass()])] if bounded else []
    began, left = (short_tree(call).body for call in (f"selfplay_enter({name!r}, {bounded})", "selfplay_leave()"))
    return [*began, ast.Try(body, stopped, [], left)]


def _watched(tree: ast.Module) -> list[Function]:
    """The tests, and the set-up code that a runner calls before them; between these, only the runner's own code
    runs. A function inside of a test is none, whatever its name."""
    left: list[ast.AST] = [tree]
    found = list[Function]()
    while left:
        for one in getattr(left.pop(), "body", ()):
            if isinstance(one, ast.ClassDef | ast.If | ast.Try):
                left.append(one)
            elif isinstance(one, Function) and (
                one.name.startswith("test") or one.name in _BEFORE
                or any("fixture" in source_of(decorator) for decorator in one.decorator_list)
            ):  # fmt: skip
                found.append(one)
    return found


def read_entered(data: bytes) -> Entered:
    """Parse the record; empty if it is not valid. The program may have written it in our place, so what is no short
    expression goes, and what is more than ours makes."""
    try:
        found = answer(Entered, data)
    except AnswerError:
        return Entered()
    calls = tuple(one for one in found.calls[:MOST_CALLS] if _can_be_read(one[0]))
    return replace(found, calls=calls, beside=tuple(filter(_can_be_read, found.beside[:MOST_CALLS])))


def _can_be_read(source: str) -> bool:
    try:
        return len(source) <= LONGEST_CALL and syntax_tree(source, mode="eval") is not None
    except (SyntaxError, ValueError):
        return False


def changed_lines(task: Task) -> dict[str, list[int]]:
    """Changed file -> first lines of its changed functions in the original, as their code objects give them, with those
    that use what is changed outside of functions (`module_changes.py`). An empty list stands for every function: the
    bug changes other code outside of functions."""
    sections = [one for one in patches.parse(task.artifact.bug_inject) if one.old_path and one.old_path.endswith(".py")]
    texts = original_texts(task.world, [one.old_path or "" for one in sections])
    return {path: _begun(section, texts[path]) for section in sections if (path := section.old_path or "") in texts}


def _begun(section: patches.FilePatch, text: str) -> list[int]:
    names = NamesOfAModule(parsed(text), functions(section.path, text))
    lines, firsts = text.split("\n"), set[int]()
    for change in (change for hunk in section.hunks for change in changes(hunk)):
        telling = [line for line in change.lines if line <= len(lines) and lines[line - 1].strip()] or [change.start]
        found = {one.first for line in telling if (one := names.innermost(line)) is not None}
        using = found or names.users(change)
        if using is None:
            return []
        firsts |= using
    return sorted(firsts)
