"""What decides about a bug's predictions, and which layers work for its suite: plain values that can be stored.

A calibration is made once per bug (`calibrate.py`). It contains the secret names of the canary tests, so no solver may
be able to read it. It is stored as JSON beside the bug, for every process that grades.
"""

import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.errors import SelfplayError
from selfplay.oracle import calibration_json as stored
from selfplay.oracle.behaviour.events import Event
from selfplay.oracle.behaviour.stored_behaviour import Behaviour
from selfplay.oracle.errors import OracleError
from selfplay.oracle.rewriting.instrument import Instrumented
from selfplay.workbench.files import TestFile

FORMAT = 24
"""Version of a stored calibration; calibrations of other versions are made again."""


class UnreadableCalibration(SelfplayError):
    """A stored calibration that cannot be read, or has another version: make it again."""


@dataclass(frozen=True)
class ImpossibleTests:
    """Test files whose tests cannot pass, their compiled forms, the ids that do not pass with them, and the secret
    names in the files."""

    files: Mapping[str, TestFile]
    compiled: Mapping[str, bytes]
    tests: frozenset[str]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """Which layers work, found by running the instrumented tests on the original.

    `made`: the added tests, empty if they disturb the suite; `compiled`: the compiled forms of their files.
    `must_pass`, `must_fail`, `copies`, `false_claims`: for each such test of `made`, in order, its number of ids; 0 if
    it does not behave as expected. `witnessed`: ids that the witness saw pass. `replaced`: functions of the test runner
    that the suite itself replaces. `rewritten`: test files that the suite itself changes. `events`: what the original,
    and the buggy program in the probes, did to the interpreter. `impossible` and `behaviour`: for the second look; None
    if not requested.
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
                "files": stored.files(made.files), "must_pass": [*made.must_pass], "must_fail": [*made.must_fail],
                "copies": [[*pair] for pair in made.copies.items()], "false_claims": [*made.false_claims],
                "names": [*made.names],
            },
            "compiled": stored.blobs(self.compiled), "must_pass": [*self.must_pass], "must_fail": [*self.must_fail],
            "copies": [*self.copies], "false_claims": [*self.false_claims], "witnessed": sorted(self.witnessed),
            "witness_end": self.witness_end, "replaced": sorted(self.replaced), "rewritten": sorted(self.rewritten),
            "exit_zero": self.exit_zero, "end_mark": self.end_mark, "seconds": self.seconds, "runs": self.runs,
            "events": sorted([*event] for event in self.events),
            "impossible": never and {
                "files": stored.files(never.files), "compiled": stored.blobs(never.compiled),
                "tests": sorted(never.tests), "names": [*never.names],
            },
            "behaviour": shown and {
                "files": stored.files(shown.files), "calls": stored.calls(shown.calls),
                "novel": sorted(shown.novel), "kinds": {kind: [*names] for kind, names in shown.kinds.items()},
                "odd": sorted(shown.odd),
                "right": stored.plain_outcomes(shown.right), "wrong": stored.plain_outcomes(shown.wrong),
                "guards": stored.guards(shown.guards), "further": stored.guards(shown.further),
                "constant_caught": shown.constant_caught, "reached": [*shown.reached],
                "unseen": [*shown.unseen], "mutants": shown.mutants,
                "hash_seed": shown.hash_seed,
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Any) -> "Calibration":
        """Raises `UnreadableCalibration` for anything but the output of this version's `to_json`."""
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
    """Why a bug cannot be graded: the error of `calibrate`, kept so that it can be raised again without a run. `tries`:
    how often it occurred; None if another try cannot change it."""

    message: str
    hint: str = ""
    tries: int | None = None

    @classmethod
    def of(cls, error: SelfplayError, tries: int | None = None) -> "CalibrationFailure":
        return cls(error.message, error.hint, tries)

    def error(self) -> OracleError:
        """The error, as `calibrate` raised it."""
        return OracleError(self.message, self.hint)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "failure": {"message": self.message, "hint": self.hint, "tries": self.tries}}

    @classmethod
    def from_json(cls, value: Any) -> "CalibrationFailure":
        """Raises `UnreadableCalibration` for anything but the output of this version's `to_json`."""
        try:
            said = _checked(value)["failure"]
            tries = said.get("tries")
            return cls(
                stored.text(said["message"]), stored.text(said["hint"]), None if tries is None else stored.count(tries)
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(f"{type(error).__name__}: {error}") from error


def read_calibration(value: Any) -> Calibration | CalibrationFailure:
    """Read the output of either `to_json`. Raises `UnreadableCalibration`."""
    failed = isinstance(value, dict) and "failure" in value
    return CalibrationFailure.from_json(value) if failed else Calibration.from_json(value)


_COUNTED = ("must_pass", "must_fail", "copies", "false_claims")


def _unreadable(why: str) -> UnreadableCalibration:
    return UnreadableCalibration(f"a stored calibration cannot be read: {why}", "Delete it; it is then made again.")


def _checked(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _unreadable(f"it is not of format {FORMAT}")
    return value


def _calibration(value: dict[str, Any]) -> Calibration:
    made, never, shown = value["made"], value["impossible"], value["behaviour"]
    return Calibration(
        made=Instrumented(
            stored.files_of(made["files"]), stored.texts(made["must_pass"]), stored.texts(made["must_fail"]),
            {stored.text(word): stored.text(copied) for word, copied in made["copies"]},
            stored.texts(made["false_claims"]), stored.texts(made["names"]),
        ),
        compiled=stored.blobs_of(value["compiled"]), must_pass=stored.counts(value["must_pass"]),
        must_fail=stored.counts(value["must_fail"]), copies=stored.counts(value["copies"]),
        false_claims=stored.counts(value["false_claims"]), witnessed=frozenset(stored.texts(value["witnessed"])),
        witness_end=stored.flag(value["witness_end"]), replaced=frozenset(stored.texts(value["replaced"])),
        rewritten=frozenset(stored.texts(value["rewritten"])), exit_zero=stored.flag(value["exit_zero"]),
        end_mark=stored.flag(value["end_mark"]), seconds=float(value["seconds"]), runs=stored.count(value["runs"]),
        events=frozenset(stored.event_of(one) for one in value["events"]),
        impossible=None if never is None else ImpossibleTests(
            stored.files_of(never["files"]), stored.blobs_of(never["compiled"]),
            frozenset(stored.texts(never["tests"])), stored.texts(never["names"]),
        ),
        behaviour=None if shown is None else Behaviour(
            stored.files_of(shown["files"]), stored.calls_of(shown["calls"]), frozenset(stored.texts(shown["novel"])),
            {stored.text(kind): stored.texts(names) for kind, names in shown["kinds"].items()},
            frozenset(stored.texts(shown["odd"])),
            stored.outcomes_of(shown["right"]), stored.outcomes_of(shown["wrong"]),
            stored.guards_of(shown["guards"]), stored.guards_of(shown["further"]),
            stored.flag(shown["constant_caught"]), stored.pair(shown["reached"]), stored.texts(shown["unseen"]),
            stored.count(shown["mutants"]), stored.count(shown["hash_seed"]),
        ),
    )  # fmt: skip
