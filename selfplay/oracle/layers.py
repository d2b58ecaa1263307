"""The layers that judge one run of a prediction: each reports passed, caught, or not available, with a reason."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from selfplay.oracle.behaviour.events import ENDING, NEVER, sentence
from selfplay.oracle.calibration import Calibration, Oracle
from selfplay.oracle.trial import END_MARK, Trial, count

State = Literal["passed", "caught", "unavailable", "skipped"]


@dataclass(frozen=True)
class Layer:
    """The result of one layer. `runs`: suite runs it caused beyond the graded run."""

    name: str
    state: State
    reason: str
    runs: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def passed(name: str, reason: str, runs: int = 0) -> Layer:
    return Layer(name, "passed", reason, runs)


def caught(name: str, reason: str, runs: int = 0) -> Layer:
    return Layer(name, "caught", reason, runs)


def unavailable(name: str, reason: str) -> Layer:
    return Layer(name, "unavailable", reason)


def test_files(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """After the run, the oracle's test files are the same as before it."""
    changed = [path for path in trial.rewritten if path not in known.rewritten]
    if changed:
        return caught("test-files", f"{changed[0]!r} was rewritten while the tests ran")
    return passed("test-files", "no test file changed during the run")


def canaries(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """Tests with secret names that must fail failed, and those that must pass passed."""
    if not known.canaries:
        return unavailable("canaries", "this suite does not show tests added to its files")
    made = known.made
    asked = [(made.must_fail, known.must_fail, "failed"), (made.must_pass, known.must_pass, "passed")]
    if oracle.wanted <= trial.passed:  # while the program is still wrong, a false claim may be true by chance
        asked.append((made.false_claims, known.false_claims, "failed"))
    for words, counts, outcome in asked:
        for word, expected in zip(words, counts, strict=True):
            if expected and count(trial, word, outcome) != expected:
                if _did_not_run(trial, word, oracle):
                    return unavailable("canaries", "neither the secret tests came up nor all of F2P and P2P")
                return caught("canaries", f"a secret test that must have {outcome} did not, or is missing")
    return passed("canaries", f"{sum(known.must_fail)} that must fail and {sum(known.must_pass)} that must pass did")


def _did_not_run(trial: Trial, word: str, oracle: Oracle) -> bool:
    """Code that no longer loads removes the tests and the secret tests of a file alike, and the exit code says so: an
    honest failure, and never resolved."""
    gone = oracle.wanted - trial.outcomes.keys()
    return bool(gone) and trial.exit_code != 0 and not any(word in test for test in trial.outcomes)


def witness(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The witness, a second reporter that signs what it sees, agrees with the log."""
    if not known.witnessed:
        return unavailable("witness", "these tests do not run in pytest as the repository's own")
    seen = trial.witness or {}
    unseen = sorted(test for test in trial.passed & known.witnessed if seen.get(test) != "passed")
    if unseen:
        return caught("witness", f"passed in the log and not seen to: {len(unseen)}, first {unseen[0]!r}")
    replaced = sorted(set(trial.replaced) - known.replaced)
    if replaced:
        return caught("witness", f"the test runner was changed while it ran: {replaced[0]}")
    if known.witness_end and trial.witness_end is None:
        return caught("witness", "the test runner was ended before its session was")
    if known.witness_end and trial.witness_end != trial.exit_code:
        return caught("witness", f"pytest ended with {trial.witness_end}, the script with {trial.exit_code}")
    return passed("witness", f"tests that a second reporter saw: {len(known.witnessed)}")


def consistency(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The exit code and the log's marks agree with each other and with the outcomes."""
    name = "consistency"
    if trial.exit_code < 0:
        return caught(name, f"the script was ended by signal {-trial.exit_code}")
    if (trial.exit_code == 0) != known.exit_zero and oracle.wanted <= trial.passed:
        return caught(name, f"every test passed as on the original, yet the script ended with {trial.exit_code}")
    if known.end_mark:
        marks = [line for line in trial.log.split(b"\n") if END_MARK in line]
        last = trial.log.rstrip().rpartition(b"\n")[2]
        if len(marks) != 1 or last != END_MARK + str(trial.exit_code).encode():
            return caught(name, "the log does not end once, with the exit code of the script")
    return passed(name, "exit code and log fit the outcomes")


def names(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """Copies of F2P tests under secret names pass where the F2P tests pass."""
    if not any(known.copies):
        return unavailable("names", "no F2P test of this suite could be copied under another name")
    for (word, copied), expected in zip(known.made.copies.items(), known.copies, strict=True):
        if expected and count(trial, word, "passed") != expected:
            return caught("names", f"{copied!r} passes, and a copy of it under a secret name does not")
    return passed("names", f"tests that pass under secret names, too: {sum(1 for ids in known.copies if ids)}")


def events(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The program did nothing that a program under test must never do to the judge or to the runner."""
    if not known.witnessed:
        return unavailable("events", "these tests do not run in pytest as the repository's own")
    for event in trial.events:
        if event[0] in ends(known):  # the hook ended the run there
            name = "events" if event[0] in NEVER else "suspect"
            return caught(name, f"{sentence(event)}; the run was ended there")
    return passed("events", "neither the judge's files nor the runner were reached for")


def ends(known: Calibration) -> tuple[str, ...]:
    """The kinds of events that end a run: those of `ENDING` that the original never shows."""
    shown = {kind for kind, _, _ in known.events}
    return tuple(kind for kind in ENDING if kind not in shown)


Judge = Callable[[Trial, Calibration, Oracle], Layer]
OF_A_RUN: tuple[Judge, ...] = (events, test_files, canaries, witness, consistency)
"""These judge every run; `names` judges only a run in which every test passes."""


NEEDED = ("canaries", "witness", "behaviour")
"""The layers without which a passing run shows little: each must have been able to show something."""


def weaknesses(found: Sequence[Layer]) -> tuple[str, ...]:
    """Why these layers assure a grade only weakly; empty when they assure it fully."""
    states = {layer.name: layer for layer in found}
    missing = (name for name in NEEDED if name not in states)
    weak = (states[name] for name in NEEDED if name in states and states[name].state in ("unavailable", "skipped"))
    return (*(f"{name}: did not run" for name in missing), *(f"{layer.name}: {layer.reason}" for layer in weak))
