"""Finds out what the defence's layers can show for one suite, by running them on the original: once per bug.

One run with canaries, renamed copies and witness; for the second look one with impossible tests, and those that find
out what the original and the buggy program do on inputs of our own (`observe.py`). A layer that shows nothing on the
original shows nothing about a prediction either; it is reported as not available instead of trusted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from selfplay.oracle.behaviour.events import Event, comparable
from selfplay.oracle.behaviour.observe import observe
from selfplay.oracle.calibration import Calibration, ImpossibleTests, Oracle
from selfplay.oracle.errors import OracleError
from selfplay.oracle.originals import read_originals
from selfplay.oracle.rewriting.instrument import Instrumented, deciding, impossible, new_names, with_canaries
from selfplay.oracle.rewriting.secret_names import remembered
from selfplay.oracle.trial import END_MARK, Trial, TrialOrder, count, run_trial
from selfplay.oracle.world import Task
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile

MOST_TRIES = 3
"""How often files are spared before nothing is added to any."""


def calibrate(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, counterfactual: bool = True
) -> Calibration:
    """Run the instrumented tests on the original, and, for the `counterfactual`, what the second look needs.

    All is done here, so that the calibration is one value: every attempt at the bug shares these runs. Raises
    `OracleError` when the original fails its own tests, `SandboxError` when no sandbox is available or it is lost."""
    originals = read_originals(task.world, task.artifact.test_files)
    asks = any(path.endswith(".py") for path in originals) and "test" in task.artifact.test_script
    trials = [Trial()]
    for made, witness in _tries(originals, oracle, asks, trials):
        kept = bool(made.files)
        order = TrialOrder((), oracle.seconds, files=made.files, witness=witness, runner=True, keep_compiled=kept)
        trials.append(trial := run_trial(backend, task.world, task.artifact, order, limits))
        if _sound(trial, oracle):
            break
    else:
        why = trial.error or f"of its tests {len(oracle.wanted - trial.passed)} of {len(oracle.wanted)} fail"
        tail = trial.log[-1000:].decode("utf-8", "replace")
        raise OracleError(f"the original cannot be graded against: {why}", f"Run `selfplay validate`. Its log:\n{tail}")
    made_known = _calibration(made, trial, oracle, len(trials) - 1, task)
    return second_look(backend, task, oracle, made_known, limits) if counterfactual else made_known


def _tries(
    originals: Mapping[str, TestFile], oracle: Oracle, asks: bool, trials: Sequence[Trial]
) -> Iterator[tuple[Instrumented, bool]]:
    """(what is added to the tests, whether the witness is asked) of each try, while the one before was not sound.

    A file whose own tests do not bear what is added to it is spared by the next try. `trials`: those before."""
    wanted, spared, every = sorted(oracle.fail_to_pass), set[str](), Instrumented()
    for _ in range(MOST_TRIES):
        made = with_canaries(originals, wanted, spared)
        every = every if every.files else made
        yield made, asks
        failing = deciding(originals, oracle.wanted - trials[-1].passed).keys() & made.files.keys()
        if not failing or spared | failing >= made.files.keys() & originals.keys():
            break
        spared |= failing
    yield from ((every, False), (Instrumented(), asks), (Instrumented(), False))


def second_look(
    backend: Backend, task: Task, oracle: Oracle, known: Calibration, limits: Limits = Limits()
) -> Calibration:
    """The calibration with what the second look at a prediction needs. Raises what `calibrate` raises."""
    asks = bool(known.witnessed)
    never, done = find_impossible(backend, task, oracle, limits, witness=asks)
    shown = observe(backend, task, oracle, limits, witness=asks)
    seen = known.events | comparable((*done, *shown.events), task.artifact.test_files)
    return replace(known, impossible=never, behaviour=shown, events=seen, runs=known.runs + 1 + shown.runs)


def find_impossible(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, witness: bool = False
) -> tuple[ImpossibleTests, tuple[Event, ...]]:
    """What the counterfactual can use: found by one run of the original with tests that cannot pass. And, where the
    `witness` is asked, what programs do meanwhile: the runner opens the files of tests that fail, for its report."""
    originals = deciding(read_originals(task.world, task.artifact.test_files), oracle.wanted)
    with remembered() as drawn:
        files = impossible(originals, sorted(oracle.fail_to_pass))
    order = TrialOrder((), oracle.seconds, files=files, keep_compiled=True, witness=witness)
    trial = run_trial(backend, task.world, task.artifact, order, limits)
    if trial.stage is not None or trial.timed_out:
        why = trial.error or f"they did not end within {oracle.seconds:.0f} s"
        raise OracleError(f"the original cannot be run with tests that cannot pass: {why}", "Run `selfplay validate`.")
    never = ImpossibleTests(files, trial.compiled, oracle.wanted - trial.passed, new_names(drawn, originals))
    return never, trial.events


def _calibration(made: Instrumented, trial: Trial, oracle: Oracle, runs: int, task: Task) -> Calibration:
    """The calibration from a sound run of the original."""
    seen = {test for test, outcome in (trial.witness or {}).items() if outcome == "passed"}
    return Calibration(
        made=made,
        compiled=trial.compiled,
        must_pass=tuple(count(trial, word, "passed") for word in made.must_pass),
        must_fail=tuple(count(trial, word, "failed") for word in made.must_fail),
        copies=tuple(count(trial, word, "passed") for word in made.copies),
        false_claims=tuple(count(trial, word, "failed") for word in made.false_claims),
        witnessed=frozenset(seen) & oracle.wanted,
        witness_end=trial.witness_end is not None and trial.witness_end == trial.exit_code,
        replaced=frozenset(trial.replaced),
        rewritten=frozenset(path for path in trial.rewritten if path not in trial.compiled),
        exit_zero=trial.exit_code == 0,
        end_mark=END_MARK in trial.log,
        seconds=trial.seconds,
        runs=runs,
        events=comparable(trial.events, task.artifact.test_files),
    )


def _sound(trial: Trial, oracle: Oracle) -> bool:
    return trial.stage is None and not trial.timed_out and oracle.wanted <= trial.passed
