"""Finds out which layers of the defence work for a suite, by running them on the original once per bug.

It takes one run with canaries, renamed copies and witness. The second look needs one more run with impossible tests,
and the runs that record what the original and the buggy program do on our own inputs (`observe.py`). A layer that shows
nothing on the original shows nothing about a prediction either: it is reported as not available.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from selfplay.oracle.behaviour.compare import look
from selfplay.oracle.behaviour.events import Event, comparable
from selfplay.oracle.behaviour.observe import observe
from selfplay.oracle.behaviour.stored_behaviour import Behaviour, Guards
from selfplay.oracle.calibration import Calibration, ImpossibleTests
from selfplay.oracle.errors import OracleError
from selfplay.oracle.originals import read_originals
from selfplay.oracle.rewriting.instrument import Instrumented, deciding, impossible, new_names, with_canaries
from selfplay.oracle.rewriting.secret_names import remembered
from selfplay.oracle.task import Oracle, Task
from selfplay.oracle.trial import END_MARK, Trial, TrialOrder, count, run_trial
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile

MOST_TRIES = 3
"""Number of attempts that skip failing files, before nothing is added to any file."""


def calibrate(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, counterfactual: bool = True
) -> Calibration:
    """Run the instrumented tests on the original and, for `counterfactual`, collect what the second look needs.

    The calibration is one value, so that every attempt at the bug shares these runs. Raises `OracleError` when the
    original fails its own tests, `InsideError` when its tree cannot be made ready, `SandboxError` when no sandbox is
    available or it is lost."""
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
    """Yield (what to add to the tests, whether to use the witness) for each try, until one is sound.

    A file whose own tests fail with the additions is left out of the next try. `trials`: the earlier ones."""
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
    """Add to the calibration what the second look at a prediction needs. Raises what `calibrate` raises."""
    asks = bool(known.witnessed)
    never, done = find_impossible(backend, task, oracle, limits, witness=asks)
    shown = _holding(backend, task, oracle, observe(backend, task, oracle, limits, witness=asks), limits)
    seen = known.events | comparable((*done, *shown.events), task.artifact.test_files)
    return replace(known, impossible=never, behaviour=shown, events=seen, runs=known.runs + 1 + shown.runs)


def _holding(backend: Backend, task: Task, oracle: Oracle, known: Behaviour, limits: Limits) -> Behaviour:
    """The behaviour, or what is left of it, by which the original itself is not caught: what a call leaves behind may
    change what others answer, in a way that no look at them alone has shown."""
    for left in (known, replace(known, guards=Guards(), constant_caught=False)):
        if look(backend, task, TrialOrder((), oracle.seconds), left, limits)[0].state != "caught":
            return left
    return Behaviour(runs=known.runs)


def find_impossible(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, witness: bool = False
) -> tuple[ImpossibleTests, tuple[Event, ...]]:
    """Run the original with tests that cannot pass, to find those that the counterfactual can use. With `witness`, also
    record what programs do meanwhile: the runner opens the files of failing tests for its report."""
    originals = deciding(read_originals(task.world, task.artifact.test_files), oracle.wanted)
    with remembered() as drawn:
        files = impossible(originals, sorted(oracle.fail_to_pass))
    order = TrialOrder((), oracle.seconds, files=files, keep_compiled=True, witness=witness)
    trial = run_trial(backend, task.world, task.artifact, order, limits)
    if trial.failed_at is not None or trial.timed_out:
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
    return trial.failed_at is None and not trial.timed_out and oracle.wanted <= trial.passed
