"""Check 6. With the weakening on top, some failing test passes or is gone, and no other test is lost.

The script ends, the parser reads its output, and every test that passes under the bug still exists and passes, in
one run at least. Otherwise a weakening that breaks its own test file would count as hiding every test in it, and one
that deletes the suite would leave the solver without a specification.

Differs from the paper: the cases of a parametrised test share one function, so removing it also removes passing cases.
Such cases, which have the same name before `[` (before `/` in Go), may be lost: at most `max_lost_share` of all tests
that pass under the bug. Measured on ten bugs of sqlparse 0.5.3, with some 450 such tests: eight lose none, one loses 1
and one 4, each a case of a failing test.
"""

from collections.abc import Callable

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.patches import PatchError, parse
from selfplay.validators.common import (
    failing,
    fails,
    few,
    function_of,
    never_passing,
    passes,
    rounds,
    unusable,
    variant,
)
from selfplay.validators.hints import find_hint
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import TestRun, Workbench

NAME = "weakening"
MOST_AT_TIMES = 2
"""At most this many tests, or one in a hundred if that is more, may fail with the weakening in some runs alone:
tests that measure time do so on a busy machine, and a weakening that makes tests flicker hides what they say."""


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    try:
        hint = find_hint(parse(artifact.weakening))
    except PatchError as error:
        return fails(NAME, f"test_weaken.diff: {error.message}")
    if hint:
        return fails(NAME, f"test_weaken.diff {hint}")

    def run(repeat: int) -> TestRun:
        return variant(bench, artifact.bug_inject, artifact.weakening, repeat=repeat)

    weakened = run(0)
    if reason := unusable(weakened, "with the weakening"):
        return fails(NAME, reason, log_tail=weakened.log_tail)
    broken = failing(bench, artifact.bug_inject)
    at_times = weakened.failed - broken - bench.run().failed
    if new := never_passing(at_times, run, thresholds.repeats):
        return fails(NAME, f"the weakening breaks {count(len(new), 'test')}: {few(new)}", log_tail=weakened.log_tail)
    if len(at_times) > max(MOST_AT_TIMES, len(weakened.outcomes) // 100):
        return fails(NAME, f"the weakening makes {count(len(at_times), 'test')} fail at times: {few(at_times)}")
    passing, gone = broken & weakened.passed, broken - weakened.outcomes.keys()
    if not passing and not gone:
        return fails(NAME, f"the weakening hides no failing test (of {len(broken)})")
    survivors = bench.run().passed - broken
    lost = _steady(survivors - weakened.passed, bench, run, thresholds.repeats)
    if reason := _too_much(lost, len(survivors), broken, thresholds.max_lost_share):
        return fails(NAME, reason, lost=len(lost))
    reason = f"hides {len(passing) + len(gone)} of {count(len(broken), 'failing test')}"
    reason += f": {count(len(passing), 'passes', 'pass')}, {count(len(gone), 'is gone', 'are gone')}"
    reason += f"; {count(len(lost), 'passing case')} went with them" if lost else ""
    visible = len(broken & weakened.failed)
    return passes(NAME, reason, passing=len(passing), gone=len(gone), visible=visible, lost=len(lost))


def _steady(
    tests: frozenset[str], bench: Workbench, weakened: Callable[[int], TestRun], repeats: int
) -> frozenset[str]:
    """The tests among `tests` that are lost in every run: a flaky test that is missing once was not removed.

    Only an artifact that seems to lose tests pays for these additional runs; all others get them in the determinism
    check.
    """

    def original(repeat: int) -> TestRun:
        return bench.run(repeat=repeat)

    def buggy(repeat: int) -> TestRun:
        return variant(bench, bench.artifact.bug_inject, repeat=repeat)

    for repeat in rounds([original, buggy, weakened], repeats) if tests else ():
        if not tests:
            break
        tests &= original(repeat).passed & buggy(repeat).passed
        tests -= weakened(repeat).passed
    return tests


def _too_much(lost: frozenset[str], survivors: int, broken: frozenset[str], share: float) -> str:
    """Why a weakening may not remove the tests in `lost`, which pass under the bug; empty if it may."""
    functions = {function_of(test) for test in broken}
    if unseeing := {test for test in lost if function_of(test) not in functions}:
        return f"the weakening removes {count(len(unseeing), 'test')} that the bug does not break: {few(unseeing)}"
    if len(lost) <= share * survivors:
        return ""
    taken = f"{len(lost)} of {count(survivors, 'test')} that the bug does not break"
    return f"the weakening removes {taken}, other cases of failing tests; at most {share:.0%} may be removed"
