"""Check 8. The original and the buggy tree are run again; tests whose outcome varies are quarantined.

An artifact is rejected when an earlier verdict needed one of them: those checks are made again on the same runs with
the quarantined tests left out, which costs no further run. Tests that fail at random are the exploit the paper names.
"""

from types import ModuleType

from selfplay.artifact import Artifact, Verdict
from selfplay.validators import bug, inverse_mutation, test_script, weakening
from selfplay.validators.common import count, fails, few, passes, unusable, variant
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import TestRun, Workbench

NAME = "determinism"
OUTCOME_CHECKS: tuple[ModuleType, ...] = (test_script, bug, weakening, inverse_mutation)


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    for runs, where in (
        (originals(bench, thresholds), "on the original"),
        (buggies(bench, thresholds), "under the bug"),
    ):
        for index, run in enumerate(runs):
            if reason := unusable(run, f"{where}, run {index + 1}"):
                return fails(NAME, reason, log_tail=run.log_tail)
    flaky = flaky_tests(bench, thresholds)
    if not flaky:
        return passes(NAME, f"{thresholds.repeats} runs of each tree agree", flaky=[])
    steady = bench.leaving_out(flaky)
    for module in OUTCOME_CHECKS:
        again: Verdict = module.check(artifact, steady, thresholds)
        if not again.passed:
            reason = f"without {count(len(flaky), 'flaky test')} ({few(flaky, 2)}) {module.NAME} fails: {again.reason}"
            return fails(NAME, reason, flaky=sorted(flaky))
    return passes(NAME, f"{count(len(flaky), 'flaky test')} left out: {few(flaky)}", flaky=sorted(flaky))


def originals(bench: Workbench, thresholds: Thresholds) -> list[TestRun]:
    return [bench.run(repeat=index) for index in range(thresholds.repeats)]


def buggies(bench: Workbench, thresholds: Thresholds) -> list[TestRun]:
    bug_diff = bench.artifact.bug_inject
    return [variant(bench, bug_diff, repeat=index) for index in range(thresholds.repeats)]


def flaky_tests(bench: Workbench, thresholds: Thresholds) -> frozenset[str]:
    """Ids whose outcome differs between runs of one tree; being absent is an outcome."""
    return _varying(originals(bench, thresholds)) | _varying(buggies(bench, thresholds))


def _varying(runs: list[TestRun]) -> frozenset[str]:
    tests = {test for run in runs for test in run.outcomes}
    return frozenset(test for test in tests if len({run.outcomes.get(test) for run in runs}) > 1)
