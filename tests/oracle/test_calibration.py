"""A calibration is a plain value: stored, read back and shared, it grades as it did; a failed one tells why again."""

import copy
import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exploits.projects import Lab

from selfplay.oracle.behaviour.events import comparable
from selfplay.oracle.calibrate import _tries, calibrate, find_impossible
from selfplay.oracle.calibration import (
    Calibration,
    CalibrationFailure,
    ImpossibleTests,
    UnreadableCalibration,
    read_calibration,
)
from selfplay.oracle.errors import OracleError
from selfplay.oracle.grade import Grader, grade_without_running
from selfplay.oracle.grades import Grade
from selfplay.oracle.reasons import BREAKS_GRADER, blamed
from selfplay.oracle.rewriting.instrument import Instrumented
from selfplay.oracle.task import Oracle
from selfplay.sandbox import Backend, InsideError, Limits, MachineError
from selfplay.workbench.files import TestFile

MADE = Instrumented({"t.py": TestFile(b"\xff\0", True, 7)}, ("one",), ("two",), {"b": "B", "a": "A"}, ("false",))
KNOWN = Calibration(
    made=MADE, compiled={"caf\udce9.pyc": b"\0\1"}, must_pass=(1,), must_fail=(2,), copies=(1, 0), false_claims=(3,),
    witnessed=frozenset({"t::a"}), witness_end=True, replaced=frozenset({"x"}), rewritten=frozenset({"y"}),
    exit_zero=True, end_mark=False, seconds=0.1, runs=2,
    impossible=ImpossibleTests({"t.py": TestFile(b"raise")}, {"t.pyc": b"c"}, frozenset({"t::a"})),
)  # fmt: skip


@pytest.fixture(scope="module")
def lab(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab("python", backend, tmp_path_factory.mktemp("python"))


def stored(value: Calibration | CalibrationFailure) -> Any:
    """The value as it comes back from a file, whose keys may be in another order."""
    return json.loads(json.dumps(value.to_json(), sort_keys=True))


def told(grade: Grade) -> Grade:
    """The grade without what the clock says."""
    return replace(grade, seconds=0.0)


@pytest.mark.parametrize("known", [KNOWN, replace(KNOWN, impossible=None)], ids=["with impossible", "without"])
def test_a_calibration_comes_back_as_it_was(known: Calibration) -> None:
    back = read_calibration(stored(known))
    assert back == known and isinstance(back, Calibration)
    assert list(back.made.copies) == list(known.made.copies)  # their counts are in this order


@pytest.mark.long
def test_what_the_runner_does_when_tests_fail_is_known(backend: Backend, lab: Lab) -> None:
    """pytest reads the files of tests that fail, for its report. Where nothing else had shown that, the second look at
    any prediction did, and the known repair itself was suspect: on nine of fifteen bugs of real projects."""
    never, done = find_impossible(backend, lab.task, lab.oracle, witness=True)
    opened = comparable(done, lab.task.artifact.test_files)
    assert ("tests", "", next(iter(never.files))) in opened
    assert opened <= calibrate(backend, lab.task, lab.oracle).events
    assert find_impossible(backend, lab.task, lab.oracle)[1] == ()


@pytest.mark.slow
def test_a_stored_calibration_gives_equal_grades(backend: Backend, lab: Lab) -> None:
    known = calibrate(backend, lab.task, lab.oracle)
    assert known.impossible is not None and known.runs == 4  # canaries, impossible tests, and two to observe
    graders = [Grader(lab.task, lab.oracle, Limits(), one) for one in (known, Calibration.from_json(stored(known)))]
    cheat = "\nclass Any(list):\n    __eq__ = lambda *_: True\n\n\nshare = lambda *_: Any()\n"

    def cheating(root: Path) -> None:
        path = root / "ledger/money.py"
        path.write_text(path.read_text() + cheat)

    for edit, resolved in ((lab.fix, True), (cheating, False), (lambda root: (root / "N.md").write_text("x\n"), False)):
        first, second = (told(grader.grade(backend, lab.diff(edit))) for grader in graders)
        assert first.resolved is resolved and first.layers
        assert first == second


@pytest.mark.slow
def test_without_the_counterfactual_is_one_run_less_and_cannot_be_asked_for(backend: Backend, lab: Lab) -> None:
    known = calibrate(backend, lab.task, lab.oracle, counterfactual=False)
    assert known.runs == 1 and known.impossible is None
    grade = Grader(lab.task, lab.oracle, Limits(), known, counterfactual=False).grade(backend, lab.diff(lab.fix))
    assert grade.resolved and {layer.name: layer.state for layer in grade.layers}["counterfactual"] == "skipped"
    refusing = Grader(lab.task, lab.oracle, Limits(), known, counterfactual=False, weak="refuse")
    refused = refusing.grade(backend, lab.diff(lab.fix))  # without a second look, nothing shows its behaviour
    assert (refused.resolved, refused.reason, refused.weaknesses) == (False, "weak", grade.weaknesses)
    with pytest.raises(ValueError, match="no impossible tests"):
        Grader(lab.task, lab.oracle, Limits(), known)


@pytest.mark.slow
def test_a_failed_calibration_tells_why_again_without_a_run(backend: Backend, lab: Lab) -> None:
    wanted = Oracle(frozenset({"tests/test_money.py::test_that_is_not"}), frozenset(), 12.0)
    with pytest.raises(OracleError) as caught:
        calibrate(backend, lab.task, wanted)
    back = read_calibration(stored(CalibrationFailure.of(caught.value)))
    assert isinstance(back, CalibrationFailure)
    again = back.error()
    assert (again.message, again.hint) == (caught.value.message, caught.value.hint)
    assert "of its tests 1 of 1 fail" in again.message


def test_what_is_refused_for_what_it_is_needs_no_run(lab: Lab) -> None:
    tests = lab.diff(lambda root: (root / "tests/test_new.py").write_text("def test_x(): pass\n"))
    reasons = {b"": "empty", b"x = 1\n": "malformed", tests: "empty"}
    for prediction, reason in reasons.items():
        early = grade_without_running(lab.task, prediction)
        assert early is not None and early.reason == reason
        assert early == lab.grade(prediction)
    assert grade_without_running(lab.task, lab.diff(lab.fix)) is None


@pytest.mark.parametrize("value", [None, [], {}, {"format": 0}, {"format": 1}, {"format": 1, "failure": "x"}, "x"])
def test_what_is_no_calibration_is_told_in_one_error(value: Any) -> None:
    with pytest.raises(UnreadableCalibration, match="cannot be read"):
        read_calibration(value)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inner for found in ((*path, key), *places(one, (*path, key)))]


@pytest.mark.parametrize("rubbish", [None, "rubbish!", -1.5, {}, [[]], True])
def test_a_damaged_calibration_is_read_whole_or_not_at_all(rubbish: Any) -> None:
    """Whatever stands in any place of it: a calibration, or the one error."""
    whole = stored(KNOWN)
    refused = 0
    for path in places(whole):
        damaged = copy.deepcopy(whole)
        inner = damaged
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = rubbish
        try:
            assert isinstance(read_calibration(damaged), Calibration)
        except UnreadableCalibration:
            refused += 1
    assert refused > len(places(whole)) // 2


class Ran:
    """A run in which these tests passed."""

    def __init__(self, *passed: str) -> None:
        self.passed = frozenset(passed)


def test_a_file_that_bears_no_canaries_is_spared_alone() -> None:
    """Of two files the tests of one fail beside what is added: the next try adds to the other, and only then to none.

    The last try has neither canaries nor witness."""
    files = {f"tests/test_{one}.py": TestFile(f"def test_{one}():\n    assert 1 == 1\n".encode()) for one in "ab"}
    oracle = Oracle(frozenset({"tests/test_a.py::test_a"}), frozenset({"tests/test_b.py::test_b"}))
    trials: list[Any] = []
    tries = _tries(files, oracle, True, trials)
    made, _ = next(tries)
    assert files.keys() <= made.files.keys()
    trials.append(Ran("tests/test_a.py::test_a"))
    made, witness = next(tries)
    assert witness and "tests/test_a.py" in made.files and "tests/test_b.py" not in made.files
    trials.append(Ran())
    assert [(bool(made.files), witness) for made, witness in tries] == [(True, False), (False, True), (False, False)]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("Exceeds the limit (4300 digits)"), BREAKS_GRADER),
        (RecursionError("too deep"), BREAKS_GRADER),
        (MemoryError(), "error"),
        (OSError(errno.ENOENT, "No such file"), "error"),
        (InsideError("its disk is full"), BREAKS_GRADER),
        (OracleError("its original fails"), "cannot-be-graded"),
    ],
    ids=repr,
)
def test_what_fails_with_a_prediction_alone_fails_through_it(
    lab: Lab, backend: Backend, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    """A number of 5,000 digits in `pyproject.toml` had an attempt left out of its group whenever its policy liked."""

    def fail(*_: object) -> Grade:
        raise error

    monkeypatch.setattr(Grader, "_run", fail)
    grade = Grader(lab.task, lab.oracle, Limits(), KNOWN).grade(backend, lab.diff(lab.fix))
    assert (grade.resolved, grade.reason) == (False, reason)
    assert (reason in blamed("machine")) == (reason != BREAKS_GRADER)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        OSError(errno.ENOSPC, "No space left on device"),
        BlockingIOError(errno.EAGAIN, ""),
    ],
    ids=repr,
)
def test_what_the_machine_lacks_is_no_grade(
    lab: Lab, backend: Backend, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """An attempt was stored with it for good, and a run on a disk that was full for a minute had fewer attempts."""

    def fail(*_: object) -> Grade:
        raise error

    monkeypatch.setattr(Grader, "_run", fail)
    with pytest.raises(MachineError, match="a prediction could not be graded: "):
        Grader(lab.task, lab.oracle, Limits(), KNOWN).grade(backend, lab.diff(lab.fix))
