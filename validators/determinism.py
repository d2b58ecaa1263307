"""Check 8. The original and the buggy tree are run again; tests whose outcome varies are left out.

An artifact is rejected when an earlier check passed only because of such tests: those checks are repeated on the same
runs without them, which costs no further run. The paper names randomly failing tests as an exploit.

With two runs, a test that fails half of the time is found only half of the time. So once any test varies, both trees
are run `MORE` times again; most suites are stable and do not pay for that.
"""

from types import ModuleType

from selfplay.artifact import Artifact, Verdict
from selfplay.validators import bug, inverse_mutation, test_script, weakening
from selfplay.validators.common import count, fails, few, passes, unusable, variant
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import TestRun, Workbench

NAME = "determinism"
MORE = 2
MOST_FLAKY = 10
"""At most this many ids may vary, or one in twenty if that is more: if many vary, others probably vary too but were not
seen."""
OUTCOME_CHECKS: tuple[ModuleType, ...] = (test_script, bug, weakening, inverse_mutation)


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    for runs, where in _runs(bench, thresholds.repeats):
        for index, run in enumerate(runs):
            if reason := unusable(run, f"{where}, run {index + 1}"):
                return fails(NAME, reason, log_tail=run.log_tail)
    flaky = flaky_tests(bench, thresholds)
    if not flaky:
        return passes(NAME, f"{thresholds.repeats} runs of each tree agree", flaky=[])
    most = max(MOST_FLAKY, len(bench.run().outcomes) // 20)
    if len(flaky) > most:
        return fails(
            NAME, f"{count(len(flaky), 'test')} vary from run to run; with more than {most}, others are suspect"
        )
    steady = bench.leaving_out(flaky)
    for module in OUTCOME_CHECKS:
        again: Verdict = module.check(artifact, steady, thresholds)
        if not again.passed:
            reason = f"without {count(len(flaky), 'flaky test')} ({few(flaky, 2)}) {module.NAME} fails: {again.reason}"
            return fails(NAME, reason, flaky=sorted(flaky))
    return passes(NAME, f"{count(len(flaky), 'flaky test')} left out: {few(flaky)}", flaky=sorted(flaky))


def flaky_tests(bench: Workbench, thresholds: Thresholds) -> frozenset[str]:
    """Ids whose outcome differs between runs of one tree; a missing test counts as an outcome."""
    flaky = frozenset.union(*(_varying(runs) for runs, _ in _runs(bench, thresholds.repeats)))
    if not flaky:
        return flaky
    return frozenset.union(*(_varying(runs) for runs, _ in _runs(bench, thresholds.repeats + MORE)))


def _runs(bench: Workbench, times: int) -> tuple[tuple[list[TestRun], str], ...]:
    originals = [bench.run(repeat=index) for index in range(times)]
    buggy = [variant(bench, bench.artifact.bug_inject, repeat=index) for index in range(times)]
    return (originals, "on the original"), (buggy, "under the bug")


def _varying(runs: list[TestRun]) -> frozenset[str]:
    tests = {test for run in runs for test in run.outcomes}
    return frozenset(test for test in tests if len({run.outcomes.get(test) for run in runs}) > 1)
