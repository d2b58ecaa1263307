"""What the changed functions ask for is put into inputs, so that their branches are seen."""

import difflib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from exploits.projects import Lab, Project

from selfplay.oracle.behaviour import observe
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.call_selection import DrawnCalls
from selfplay.oracle.behaviour.changed_code import asked_values, raised_errors
from selfplay.oracle.behaviour.mutation_score import enough_shown
from selfplay.oracle.behaviour.stored_behaviour import Behaviour
from selfplay.oracle.behaviour.traced_calls import Entered
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

NAME = "tests/test_it.py"
DEPTH = '''"""How deep a program nests."""


def spaces(text):
    return text.replace("tab", "    ")


def depth(text):
    """The words that are "open" at the end."""
    level = 0
    for word in text.split():
        if word == "begin":
            level += 1
        elif word == "procedure" and level > 2:
            level += 3
        elif word == "terminate":
            level -= 2
        elif word == "abandon":
            return 0 & HUGE
    return level
'''.replace("HUGE", f"0x{'f' * 3000}")  # nearly as many digits as are parsed
DEPTH_TESTS = """from nesting import depth, spaces


def test_shown():
    assert spaces("tab x") == "     x"


def test_depth():
    assert depth("begin one begin two") == 2
    assert depth("begin three") == 1
"""
TOTAL = """def total(items):
    if not items:
        seen = 0
        seen += 0
        return seen
    return sum(items)


def name():
    return "total"
"""
TOTAL_TESTS = """from nesting import name, total


def test_shown():
    assert name() == "total"


def test_total():
    assert total([3, 4]) == 7
    assert total([8, 1, 5]) == 14
    assert total([]) == 0
"""


def lab(backend: Backend, folder: Path, program: str, buggy: str, tests: str, hidden: str) -> Lab:
    """`hidden`: the test that the bug breaks and the weakening removes."""
    bug = Project(
        {"nesting.py": program, NAME: tests}, ("nesting.py", buggy), {NAME: tests.split(f"def {hidden}")[0]},
        render_script([NAME]), PARSER, (f"{NAME}::{hidden}",), (f"{NAME}::test_shown",),
    )  # fmt: skip
    return Lab("python", backend, folder, bug)


@pytest.mark.slow
def test_branches_that_ask_for_words_of_no_test_are_seen(backend: Backend, tmp_path: Path) -> None:
    """No test holds `procedure`, `terminate` or `abandon`, and no call without them shows what these branches do."""
    found = lab(backend, tmp_path, DEPTH, DEPTH.replace("level = 0", "level = 1"), DEPTH_TESTS, "test_depth")
    values = asked_values(found._grader.task)
    assert {"begin", "procedure", "terminate", "abandon"} <= {*values} and 2 in values and 2**12000 - 1 not in values
    assert not {"tab", 'The words that are "open" at the end.'} & {*values}  # of another function, and of no branch
    known = found._grader.calibration.behaviour
    assert known is not None and len(known.calls.sources) >= 4
    for word in ("procedure", "terminate", "abandon"):
        assert any(word in call for call in known.further.calls.sources.values()), word


SIGNS = """import re

_SIGNS = frozenset("+-")
_ALL = {*_SIGNS, "~"}
_NUMBER = re.compile(r"%\\d{2}")
_OTHER = "other"


class Wrong(Exception):
    pass


def parse(text):
    if text[:1] not in _ALL or _NUMBER.match(text):
        raise Wrong(text)
    if text == "+":
        raise TypeError
    return text


def other():
    raise KeyError(_OTHER)
"""


def test_what_names_stand_for_and_what_patterns_match_is_asked_for_too(tmp_path: Path) -> None:
    """Also by way of another name; and errors that are raised by name are no accidents, but for wrong types."""
    (tmp_path / "signs.py").write_text(SIGNS)
    changed = SIGNS.replace(" or _NUMBER.match(text)", "").splitlines(True)
    lines = difflib.unified_diff(SIGNS.splitlines(True), changed, "a/signs.py", "b/signs.py")
    diff = "diff --git a/signs.py b/signs.py\n" + "".join(lines)
    task: Any = SimpleNamespace(world=SimpleNamespace(tree=(tmp_path,)), artifact=SimpleNamespace(bug_inject=diff))
    values = asked_values(task)
    assert {"+-", "~", "+", 1} <= {*values} and "other" not in values
    assert any(re.fullmatch(r"%\d{2}", str(one)) for one in values)
    assert raised_errors(task) == {'["raised", "Wrong"]', '["raised", "KeyError"]'}


@pytest.mark.slow
def test_lines_that_only_calls_without_the_bug_run_count_as_run(backend: Backend, tmp_path: Path) -> None:
    """For no items the buggy program is right: three of the five changed lines run in calls that show no bug."""
    buggy = "def total(items):\n    return sum(items) + 1 if items else 0\n" + TOTAL[TOTAL.index("\n\n\ndef name") :]
    found = lab(backend, tmp_path, TOTAL, buggy, TOTAL_TESTS, "test_total")
    known = found._grader.calibration.behaviour
    assert known is not None and known.reached == (5, 5)


@pytest.mark.parametrize(("novel", "draws"), [((5,), 1), ((0, 4), 2), ((3, 0, 2, 9), 3)])
def test_calls_are_drawn_again_while_too_few_are_novel(
    monkeypatch: pytest.MonkeyPatch, novel: tuple[int, ...], draws: int
) -> None:
    """The best of at most three draws is kept: of 3, 0 and 2 novel calls, 3. It alone gets guards and further calls."""
    left, made, judged = list(novel), list[int](), list[int]()

    def drawn(*given: object) -> DrawnCalls:
        made.append(left.pop(0))
        found = Behaviour(novel=frozenset(map(str, range(made[-1]))))
        return DrawnCalls(found, lambda: judged.append(len(found.novel)) or found)  # type: ignore[func-returns-value]

    monkeypatch.setattr(observe, "observed_calls", drawn)
    monkeypatch.setattr(observe, "_probes", lambda *given: observe._Probes())
    shown = Entered(calls=(("m.f(1)", "test_f"),))
    _, best = observe._drawn(SimpleNamespace(names=()), {}, shown, {})  # type: ignore[arg-type]
    assert len(made) == draws and len(best.novel) == max(made) and judged == [max(made)]


@pytest.mark.parametrize(("draws", "best"), [
    ([(20, 2), (3, 3), (3, 3)], (20, 2)),  # three calls are too few to judge by
    ([(2, 0), (20, 0), (9, 0)], (20, 0)),
    ([(3, 3), (30, 3), (30, 3)], (30, 3)),
])  # fmt: skip
def test_a_draw_that_judges_is_kept(
    monkeypatch: pytest.MonkeyPatch, draws: list[tuple[int, int]], best: tuple[int, int]
) -> None:
    """Each draw as (calls, novel ones)."""
    left = list(draws)

    def drawn(*given: object) -> DrawnCalls:
        names = [f"c{at}" for at in range(left[0][0])]
        novel = frozenset(names[: left.pop(0)[1]])
        right = {name: {"": "1"} for name in names}
        found = Behaviour(calls=Calls(sources=dict.fromkeys(names, "m.f(1)")), novel=novel, right=right, wrong=right)
        return DrawnCalls(found, lambda: found)

    monkeypatch.setattr(observe, "observed_calls", drawn)
    monkeypatch.setattr(observe, "_probes", lambda *given: observe._Probes())
    _, kept = observe._drawn(SimpleNamespace(names=()), {}, Entered(calls=(("m.f(1)", "test_f"),)), {})  # type: ignore[arg-type]
    assert (len(kept.calls.sources), len(kept.novel)) == best


@pytest.mark.parametrize(("unseen", "of", "enough"), [(1, 1, True), (2, 8, True), (3, 8, False), (2, 7, False)])
def test_a_quarter_may_stay_unseen(unseen: int, of: int, enough: bool) -> None:
    assert enough_shown(unseen, of) is enough
