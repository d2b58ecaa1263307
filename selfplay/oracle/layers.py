"""The layers that judge one run of a prediction: each reports passed, caught or not available, with a reason."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from selfplay.formatting import count as counted
from selfplay.oracle.behaviour.events import ENDING, NEVER, sentence
from selfplay.oracle.calibration import Calibration
from selfplay.oracle.task import Oracle
from selfplay.oracle.trial import END_MARK, Trial, count

State = Literal["passed", "caught", "unavailable", "skipped"]
Precondition = Literal["patch", "paths", "run"]
"""Layers that have several reasons when they catch something."""
Judgement = Literal[
    "events", "test-files", "canaries", "witness", "consistency", "names", "behaviour", "counterfactual", "suspect"
]
"""Layers that are the reason of a grade when they catch something; `REASONS` says who is to blame then."""
Doubt = Literal["scope", "differential", "coverage", "parts"]
"""Layers that catch nothing: they only say how well a grade is assured. In the order in which they judge."""
LayerName = Precondition | Judgement | Doubt


@dataclass(frozen=True)
class Layer:
    """The result of one layer. `runs`: the extra suite runs it caused."""

    name: LayerName
    state: State
    reason: str
    runs: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def passed(name: LayerName, reason: str, runs: int = 0) -> Layer:
    return Layer(name, "passed", reason, runs)


def caught(name: LayerName, reason: str, runs: int = 0) -> Layer:
    return Layer(name, "caught", reason, runs)


def unavailable(name: LayerName, reason: str) -> Layer:
    return Layer(name, "unavailable", reason)


def test_files(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The oracle's test files did not change during the run."""
    changed = [path for path in trial.rewritten if path not in known.rewritten]
    if changed:
        return caught("test-files", f"{changed[0]!r} was rewritten while the tests ran")
    return passed("test-files", "no test file changed during the run")


def canaries(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The tests with secret names that must fail failed, and those that must pass passed."""
    if not known.canaries:
        return unavailable("canaries", "this suite does not report tests added to its files")
    made = known.made
    asked = [(made.must_fail, known.must_fail, "failed"), (made.must_pass, known.must_pass, "passed")]
    if oracle.wanted <= trial.passed:  # while the program is still wrong, a false claim may be true by chance
        asked.append((made.false_claims, known.false_claims, "failed"))
    for words, counts, outcome in asked:
        for word, expected in zip(words, counts, strict=True):
            if expected and count(trial, word, outcome) != expected:
                if _did_not_run(trial, word, oracle):
                    return unavailable("canaries", "the secret tests and some F2P or P2P tests did not run")
                return caught("canaries", f"a secret test that must have {outcome} did not, or is missing")
    return passed("canaries", f"{sum(known.must_fail)} that must fail and {sum(known.must_pass)} that must pass did")


def _did_not_run(trial: Trial, word: str, oracle: Oracle) -> bool:
    """Whether the file's own tests are missing as well as its secret tests, with a failing exit code: then the code no
    longer loads, which is an honest failure and never resolved."""
    gone = oracle.wanted - trial.outcomes.keys()
    return bool(gone) and trial.exit_code != 0 and not any(word in test for test in trial.outcomes)


def witness(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The log agrees with the witness, a second reporter that signs what it sees."""
    if not known.witnessed:
        return unavailable("witness", "these tests do not run in the repository's own pytest")
    seen = trial.witness or {}
    unseen = sorted(test for test in trial.passed & known.witnessed if seen.get(test) != "passed")
    if unseen:
        what = counted(len(unseen), "test passes", "tests pass")
        why = f"{what} in the log, but not before the witness"
        return caught("witness", f"{why}; first {unseen[0]!r}")
    replaced = sorted(set(trial.replaced) - known.replaced)
    if replaced:
        return caught("witness", f"the test runner was changed while it ran: {replaced[0]}")
    if known.witness_end and trial.witness_end is None:
        return caught("witness", "the test runner ended before its session")
    if known.witness_end and trial.witness_end != trial.exit_code:
        return caught("witness", f"pytest ended with {trial.witness_end}, the script with {trial.exit_code}")
    return passed("witness", f"the witness saw {counted(len(known.witnessed), 'test')}")


def consistency(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The exit code and the log's marks agree with each other and with the outcomes."""
    name: Final = "consistency"
    if trial.exit_code < 0:
        return caught(name, f"the script was ended by signal {-trial.exit_code}")
    if (trial.exit_code == 0) != known.exit_zero and oracle.wanted <= trial.passed:
        return caught(name, f"every test passed, but the script ended with {trial.exit_code}, unlike on the original")
    if known.end_mark:
        marks = [line for line in trial.log.split(b"\n") if END_MARK in line]
        last = trial.log.rstrip().rpartition(b"\n")[2]
        if len(marks) != 1 or last != END_MARK + str(trial.exit_code).encode():
            return caught(name, "the log does not end once, with the exit code of the script")
    return passed(name, "exit code and log fit the outcomes")


def names(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """Copies of F2P tests under secret names pass if the F2P tests pass."""
    if not any(known.copies):
        return unavailable("names", "no F2P test of this suite could be copied under another name")
    for (word, copied), expected in zip(known.made.copies.items(), known.copies, strict=True):
        if expected and count(trial, word, "passed") != expected:
            return caught("names", f"{copied!r} passes, but its copy under a secret name does not")
    return passed("names", f"tests that pass under secret names, too: {sum(1 for ids in known.copies if ids)}")


def events(trial: Trial, known: Calibration, oracle: Oracle) -> Layer:
    """The program did nothing to the judge or the runner that is forbidden to programs under test."""
    if not known.witnessed:
        return unavailable("events", "these tests do not run in the repository's own pytest")
    for event in trial.events:
        if event[0] in ends(known):  # the hook ended the run there
            return caught("events" if event[0] in NEVER else "suspect", f"{sentence(event)}; the run was ended there")
    return passed("events", "the program touched neither the judge's files nor the runner")


def ends(known: Calibration) -> tuple[str, ...]:
    """The kinds of events that end a run: those of `ENDING` that the original never showed."""
    shown = {kind for kind, _, _ in known.events}
    return tuple(kind for kind in ENDING if kind not in shown)


Judge = Callable[[Trial, Calibration, Oracle], Layer]
OF_A_RUN: tuple[Judge, ...] = (events, test_files, canaries, witness, consistency)
"""These judge every run; `names` judges only a run in which every test passes."""
