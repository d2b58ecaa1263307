"""What decides about a bug's predictions, and what the defence can show for its suite: plain values that can be stored.

A calibration is made once per bug (`calibrate.py`). It contains the secret names of the canary tests, so it must be
kept where no solver can read it. As JSON it is stored beside the bug, for every process that grades.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.answers import shaped
from selfplay.errors import SelfplayError
from selfplay.oracle.behaviour import Behaviour, Outcomes
from selfplay.oracle.calling import Calls
from selfplay.oracle.errors import OracleError
from selfplay.oracle.events import Event
from selfplay.oracle.instrument import Instrumented
from selfplay.workbench.files import TestFile

FORMAT = 5
"""Version of a stored calibration: one with another number is made again."""


class UnreadableCalibration(SelfplayError):
    """A stored calibration that cannot be read, or has another version: make it again."""


@dataclass(frozen=True)
class Oracle:
    """What decides: the ids a prediction must make pass. `seconds`: time limit of the script."""

    fail_to_pass: frozenset[str]
    pass_to_pass: frozenset[str]
    seconds: float = 90.0

    @property
    def wanted(self) -> frozenset[str]:
        return self.fail_to_pass | self.pass_to_pass


@dataclass(frozen=True)
class ImpossibleTests:
    """Test files whose tests cannot pass, their compiled forms, and the ids that did not pass with them."""

    files: Mapping[str, TestFile]
    compiled: Mapping[str, bytes]
    tests: frozenset[str]


@dataclass(frozen=True)
class Calibration:
    """What the layers can show, found by running the instrumented tests on the original.

    `made`: the added tests, empty where they disturb the suite; `compiled`: the compiled forms of their files.
    `must_pass`, `must_fail`, `copies`, `false_claims`: for each such test of `made`, in its order, how many ids it has;
    0 if it does not behave as it must. `witnessed`: ids that the witness sees pass. `replaced`: functions of the test
    runner that the suite itself replaces. `rewritten`: test files that the suite itself changes. `events`: what the
    original, and the buggy program under the probes, did to the interpreter. `impossible` and `behaviour`, for the
    second look, are None when it was not asked for.
    """

    made: Instrumented
    compiled: Mapping[str, bytes]
    must_pass: tuple[int, ...]
    must_fail: tuple[int, ...]
    copies: tuple[int, ...]
    false_claims: tuple[int, ...]
    witnessed: frozenset[str]
    witness_end: bool
    replaced: frozenset[str]
    rewritten: frozenset[str]
    exit_zero: bool
    end_mark: bool
    seconds: float
    runs: int
    events: frozenset[Event] = frozenset()
    impossible: ImpossibleTests | None = None
    behaviour: Behaviour | None = None

    @property
    def canaries(self) -> bool:
        return any(self.must_pass) and any(self.must_fail)

    def to_json(self) -> dict[str, Any]:
        """Plain values, file contents in base64; `from_json` reads them back."""
        made, never, shown = self.made, self.impossible, self.behaviour
        return {
            "format": FORMAT, "made": {
                "files": _files(made.files), "must_pass": [*made.must_pass], "must_fail": [*made.must_fail],
                "copies": [[*pair] for pair in made.copies.items()], "false_claims": [*made.false_claims],
            },
            "compiled": _blobs(self.compiled), "must_pass": [*self.must_pass], "must_fail": [*self.must_fail],
            "copies": [*self.copies], "false_claims": [*self.false_claims], "witnessed": sorted(self.witnessed),
            "witness_end": self.witness_end, "replaced": sorted(self.replaced), "rewritten": sorted(self.rewritten),
            "exit_zero": self.exit_zero, "end_mark": self.end_mark, "seconds": self.seconds, "runs": self.runs,
            "events": sorted([*event] for event in self.events),
            "impossible": never and {
                "files": _files(never.files), "compiled": _blobs(never.compiled), "tests": sorted(never.tests),
            },
            "behaviour": shown and {
                "files": _files(shown.files), "calls": _calls(shown.calls),
                "right": _plain(shown.right), "wrong": _plain(shown.wrong),
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Any) -> "Calibration":
        """Raises `UnreadableCalibration` for anything that `to_json` of this version does not give."""
        try:
            known = _calibration(_checked(value))
            lengths = [len(getattr(known.made, name)) == len(getattr(known, name)) for name in _COUNTED]
        except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
            raise _unreadable(f"{type(error).__name__}: {error}") from error
        if not all(lengths):
            raise _unreadable("the counts are not those of its tests")
        return known


@dataclass(frozen=True)
class CalibrationFailure:
    """Why a bug cannot be graded: the error of `calibrate`, kept so that it can be raised again without running
    anything."""

    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: OracleError) -> "CalibrationFailure":
        return cls(error.message, error.hint)

    def error(self) -> OracleError:
        """The error as `calibrate` raised it."""
        return OracleError(self.message, self.hint)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "failure": {"message": self.message, "hint": self.hint}}

    @classmethod
    def from_json(cls, value: Any) -> "CalibrationFailure":
        """Raises `UnreadableCalibration` for anything that `to_json` of this version does not give."""
        try:
            said = _checked(value)["failure"]
            return cls(_text(said["message"]), _text(said["hint"]))
        except (KeyError, TypeError) as error:
            raise _unreadable(f"{type(error).__name__}: {error}") from error


def read_calibration(value: Any) -> Calibration | CalibrationFailure:
    """The value behind the output of either `to_json`. Raises `UnreadableCalibration`."""
    failed = isinstance(value, dict) and "failure" in value
    return CalibrationFailure.from_json(value) if failed else Calibration.from_json(value)


_COUNTED = ("must_pass", "must_fail", "copies", "false_claims")


def _unreadable(why: str) -> UnreadableCalibration:
    return UnreadableCalibration(f"a stored calibration cannot be read: {why}", "Delete it; it is then made anew.")


def _checked(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _unreadable(f"it is not of format {FORMAT}")
    return value


def _calibration(value: dict[str, Any]) -> Calibration:
    made, never, shown = value["made"], value["impossible"], value["behaviour"]
    return Calibration(
        made=Instrumented(
            _files_of(made["files"]), _texts(made["must_pass"]), _texts(made["must_fail"]),
            {_text(word): _text(copied) for word, copied in made["copies"]}, _texts(made["false_claims"]),
        ),
        compiled=_blobs_of(value["compiled"]), must_pass=_counts(value["must_pass"]),
        must_fail=_counts(value["must_fail"]), copies=_counts(value["copies"]),
        false_claims=_counts(value["false_claims"]), witnessed=frozenset(_texts(value["witnessed"])),
        witness_end=_flag(value["witness_end"]), replaced=frozenset(_texts(value["replaced"])),
        rewritten=frozenset(_texts(value["rewritten"])), exit_zero=_flag(value["exit_zero"]),
        end_mark=_flag(value["end_mark"]), seconds=float(value["seconds"]), runs=_count(value["runs"]),
        events=frozenset(_event(one) for one in value["events"]),
        impossible=None if never is None else ImpossibleTests(
            _files_of(never["files"]), _blobs_of(never["compiled"]), frozenset(_texts(never["tests"])),
        ),
        behaviour=None if shown is None else Behaviour(
            _files_of(shown["files"]), _calls_of(shown["calls"]), _outcomes(shown["right"]), _outcomes(shown["wrong"]),
        ),
    )  # fmt: skip


def _blob(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _blobs(blobs: Mapping[str, bytes]) -> dict[str, str]:
    return {path: _blob(data) for path, data in blobs.items()}


def _files(files: Mapping[str, TestFile]) -> dict[str, list[Any]]:
    return {path: [_blob(file.content), file.executable, file.mtime] for path, file in files.items()}


def _blobs_of(value: Any) -> dict[str, bytes]:
    return {path: base64.b64decode(_text(data), validate=True) for path, data in value.items()}


def _files_of(value: Any) -> dict[str, TestFile]:
    return {
        path: TestFile(base64.b64decode(_text(content), validate=True), _flag(executable), _count(mtime))
        for path, (content, executable, mtime) in value.items()
    }


def _calls(calls: Calls) -> dict[str, Any]:
    return {"python": calls.python, "paths": [*calls.paths], "modules": dict(calls.modules),
            "sources": dict(calls.sources)}  # fmt: skip


def _calls_of(value: Any) -> Calls:
    """Raises `AnswerError`, a `ValueError`, for anything that is no calls."""
    found: Calls = shaped(Calls, value)
    return found


def _plain(outcomes: Outcomes) -> dict[str, dict[str, str]]:
    return {probe: dict(places) for probe, places in outcomes.items()}


def _outcomes(value: Any) -> Outcomes:
    return {
        _text(probe): {_text(place): _text(said) for place, said in places.items()} for probe, places in value.items()
    }


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(_text(one) for one in value)


def _count(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _counts(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(_count(one) for one in value)


def _event(value: Any) -> Event:
    kind, place, detail = _texts(value)
    return kind, place, detail


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value
