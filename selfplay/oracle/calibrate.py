"""What the layers of the defence can show of one suite, found by running them on the original: once per bug.

Two runs: one with canaries, twins and witness, and, once a prediction has passed all else, one with impossible tests.
A layer that says nothing on the original says nothing about a prediction either, and is reported as not available
instead of being taken for granted.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from selfplay.oracle.errors import OracleError
from selfplay.oracle.files import TestFile
from selfplay.oracle.instrument import Instrumented, impossible, with_canaries
from selfplay.oracle.originals import read_originals
from selfplay.oracle.trial import Order, Trial, run_trial
from selfplay.oracle.world import Task
from selfplay.sandbox import Backend, Limits

END_MARK = b"SELFPLAY-END exit="


@dataclass(frozen=True)
class Oracle:
    """What decides: the ids a prediction must make pass. `seconds`: what the script may take."""

    fail_to_pass: frozenset[str]
    pass_to_pass: frozenset[str]
    seconds: float = 90.0

    @property
    def wanted(self) -> frozenset[str]:
        return self.fail_to_pass | self.pass_to_pass


@dataclass(frozen=True)
class Calibration:
    """`made`: the canaries and twins, empty where they disturb the suite, and what they are `compiled` to. `must_pass`
    to `false_claims`: how many ids these have, each in the order they are made in; 0 for one that does not behave as
    it must. `witnessed`: ids the witness sees pass. `replaced`: what the suite
    itself replaces in its runner. `rewritten`: test files the suite
    itself changes."""

    originals: Mapping[str, TestFile]
    made: Instrumented
    compiled: Mapping[str, bytes]
    must_pass: tuple[int, ...]
    must_fail: tuple[int, ...]
    twins: tuple[int, ...]
    false_claims: tuple[int, ...]
    witnessed: frozenset[str]
    witness_end: bool
    replaced: frozenset[str]
    rewritten: frozenset[str]
    exit_zero: bool
    end_mark: bool
    seconds: float
    runs: int

    @property
    def canaries(self) -> bool:
        return any(self.must_pass) and any(self.must_fail)


def calibrate(backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits()) -> Calibration:
    """Run the instrumented tests on the original. Raises `OracleError` when the original fails its own tests."""
    originals = read_originals(task.world, task.artifact.test_files)
    asks = any(path.endswith(".py") for path in originals) and "test" in task.artifact.test_script
    made = with_canaries(originals, sorted(oracle.fail_to_pass))
    runs, trial = 0, Trial()
    for canaries, witness in ((made, asks), (made, False), (Instrumented(), asks), (Instrumented(), False)):
        order = Order((), oracle.seconds, files=canaries.files, witness=witness, keep_compiled=bool(canaries.files))
        trial = run_trial(backend, task.world, task.artifact, order, limits)
        runs += 1
        if _sound(trial, oracle):
            break
    else:
        why = trial.error or f"{len(oracle.wanted - trial.passed)} of its tests do not pass"
        tail = trial.log[-1000:].decode("utf-8", "replace")
        raise OracleError(f"the original cannot be graded against: {why}", f"Run `selfplay validate`. Its log:\n{tail}")
    seen = {test for test, outcome in (trial.witness or {}).items() if outcome == "passed"}
    return Calibration(
        originals=originals,
        made=canaries,
        compiled=trial.compiled,
        must_pass=tuple(count(trial, word, "passed") for word in canaries.must_pass),
        must_fail=tuple(count(trial, word, "failed") for word in canaries.must_fail),
        twins=tuple(count(trial, word, "passed") for word in canaries.twins),
        false_claims=tuple(count(trial, word, "failed") for word in canaries.false_claims),
        witnessed=frozenset(seen) & oracle.wanted,
        witness_end=trial.witness_end is not None and trial.witness_end == trial.exit_code,
        replaced=frozenset(trial.replaced),
        rewritten=frozenset(path for path in trial.rewritten if path not in trial.compiled),
        exit_zero=trial.exit_code == 0,
        end_mark=END_MARK in trial.log,
        seconds=trial.seconds,
        runs=runs,
    )


@dataclass(frozen=True)
class Hopeless:
    """Impossible tests, what they are compiled to, and the ids that none of them lets pass."""

    files: Mapping[str, TestFile]
    compiled: Mapping[str, bytes]
    tests: frozenset[str]


def find_hopeless(
    backend: Backend, task: Task, oracle: Oracle, known: Calibration, limits: Limits = Limits()
) -> Hopeless:
    """What the counterfactual run can ask for, by one more run of the original. Only a prediction that passes
    everything else needs it."""
    files = impossible(known.originals, sorted(oracle.fail_to_pass))
    trial = run_trial(
        backend, task.world, task.artifact, Order((), oracle.seconds, files=files, keep_compiled=True), limits
    )
    return Hopeless(files, trial.compiled, oracle.wanted - trial.passed)


def count(trial: Trial, word: str, outcome: str) -> int:
    """How many ids hold `word`; 0 unless each of them has that outcome."""
    found = [known for test, known in trial.outcomes.items() if word in test]
    return len(found) if all(known == outcome for known in found) else 0


def _sound(trial: Trial, oracle: Oracle) -> bool:
    return trial.stage is None and not trial.timed_out and oracle.wanted <= trial.passed
