"""Check 8. The original and the buggy tree are run again; tests whose outcome varies are left out.

An artifact is rejected when an earlier check passed only because of such tests: those checks are repeated on the same
runs without them; only where tests seem lost or failing is a further run made. The paper names randomly failing tests
as an exploit.

The second look at the buggy tree is seldom a whole run: where the weakening leaves a test file alone, its own run was
one already (`partial_runs.py`).

With two runs, a test that fails half of the time is found only half of the time. So once any test varies, both trees
are run again until the next run is unlikely to show a further one; what then is still missed would fail a right repair
by chance. A suite for which `MOST_ROUNDS` are not enough is refused. Most suites are stable and do not pay for that.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.validators import bug, inverse_mutation, test_script, weakening
from selfplay.validators.common import MOST_ROUNDS, fails, few, odd_runs, passes, unusable, variant
from selfplay.validators.partial_runs import buggy_again
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import TestRun, Workbench

NAME = "determinism"
FEWEST = 2
"""Runs of each tree with which two looks at each test will do."""
LIKELY = 0.1
"""The chance that the next run shows a further test that varies, below which no more runs are made."""
MOST_FLAKY = 10
"""At most this many ids may vary, or one in twenty if that is more: if many vary, others probably vary too but were not
seen."""
OUTCOME_CHECKS: tuple[ModuleType, ...] = (test_script, bug, weakening, inverse_mutation)


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    for runs, where in _runs(bench, thresholds.repeats):
        for index, run in enumerate(runs):
            if reason := unusable(run, f"{where}, run {index + 1}"):
                return fails(NAME, reason, log_tail=run.log_tail)
    flaky, another = flaky_tests(bench, thresholds.repeats)
    if not flaky:
        return passes(NAME, f"{thresholds.repeats} runs of each tree agree", flaky=[])
    if len(flaky) > (most := _most(bench)):
        return fails(
            NAME, f"{count(len(flaky), 'test')} vary from run to run; with more than {most}, others are suspect"
        )
    left_out = f"{count(len(flaky), 'flaky test')} ({few(flaky, 2)})"
    steady = bench.leaving_out(flaky)
    for module in OUTCOME_CHECKS:
        again: Verdict = module.check(artifact, steady, replace(thresholds, repeats=MOST_ROUNDS))
        if not again.passed:
            return fails(NAME, f"without {left_out} {module.NAME} fails: {again.reason}", flaky=sorted(flaky))
    if another > LIKELY:
        return fails(
            NAME, f"after {MOST_ROUNDS} runs of each tree still others vary than {left_out}", flaky=sorted(flaky)
        )
    return passes(NAME, f"{count(len(flaky), 'flaky test')} left out: {few(flaky)}", flaky=sorted(flaky))


def flaky_tests(bench: Workbench, rounds: int) -> tuple[frozenset[str], float]:
    """Ids whose outcome differs between runs of one tree, where a missing test counts as an outcome, and the chance
    that one more run shows another one. `rounds`: runs of each tree that are made in any case."""
    while True:
        trees = [runs for runs, _ in _runs(bench, rounds)]
        flaky = frozenset(test for runs in trees for test, times in odd_runs(runs).items() if times)
        another = chance_of_another(trees)
        if another <= LIKELY or rounds >= MOST_ROUNDS or len(flaky) > _most(bench):
            return flaky, another
        rounds += 1


def chance_of_another(trees: Sequence[Sequence[TestRun]]) -> float:
    """The chance that the next run shows a test that varies and did not so far: as many as were odd in one run alone,
    over the number of runs (Good and Turing's estimate of what was not seen; Good 1953, equation 8).

    A test that only one run names (its id holds a time) is not counted: its kind is in neither set of a bug."""
    times = Counter[str]()
    for runs in trees:
        times.update(odd_runs(runs))
    named = Counter(test for runs in trees for run in runs for test in run.outcomes)
    return sum(times[test] == 1 and named[test] > 1 for test in times) / sum(len(runs) for runs in trees)


def _most(bench: Workbench) -> int:
    return max(MOST_FLAKY, len(bench.run().outcomes) // 20)


def _runs(bench: Workbench, times: int) -> tuple[tuple[list[TestRun], str], ...]:
    originals = [bench.run(repeat=index) for index in range(times)]
    buggy = [variant(bench, bench.artifact.bug_inject)]
    if times == FEWEST:
        buggy.append(buggy_again(bench))
    else:
        buggy += [variant(bench, bench.artifact.bug_inject, repeat=index) for index in range(1, times)]
    return (originals, "on the original"), (buggy, "under the bug")
