"""What several checks share: verdicts, short lists for messages, runs of variants, and tests whose outcome varies."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from selfplay.artifact import Verdict
from selfplay.workbench import TestRun, Workbench

NAME_CHARACTERS = 200
MOST_ROUNDS = 10
"""Runs of each tree at most, in a suite whose tests vary."""


def passes(check: str, reason: str, **details: Any) -> Verdict:
    return Verdict(check, True, reason, details=details)


def fails(check: str, reason: str, **details: Any) -> Verdict:
    return Verdict(check, False, reason, details=details)


def few(items: Collection[str], shown: int = 3) -> str:
    """The first items in order, and the number of the others, so that a reason stays one line."""
    names = sorted(items)
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(repr(name[:NAME_CHARACTERS]) for name in names[:shown]) + more


def variant(bench: Workbench, *diffs: str, repeat: int = 0) -> TestRun:
    """Run a changed tree, and stop after ten times the original's time plus ten seconds.

    Not in the paper: without this limit a bug that makes the suite hang would cost the whole time limit in every check.
    """
    return bench.run(diffs, repeat=repeat, time_limit=variant_seconds(bench))


def variant_seconds(bench: Workbench) -> float:
    return 10 * bench.run().seconds + 10


def unusable(run: TestRun, where: str) -> str:
    """Why a run of a variant is not usable, in one line; empty when it is usable."""
    if run.failed_at == "apply":
        return run.error
    if run.timed_out:
        return f"the test script does not end {where}: it was stopped after {run.seconds:.0f} s"
    return f"{where}, {run.error}" if run.failed_at else ""


def never_passing(tests: frozenset[str], again: Callable[[int], TestRun], repeats: int) -> frozenset[str]:
    """The tests among `tests`, which failed in the first run, that pass in no other. `again`: the run of this number;
    without tests there is none."""
    for repeat in rounds([again], repeats) if tests else ():
        if not tests:
            break
        tests -= again(repeat).passed
    return tests


def rounds(trees: Sequence[Callable[[int], TestRun]], repeats: int) -> Iterator[int]:
    """The further runs that tell what is the same in each from what was so by chance: `repeats` runs of each tree in
    total, as check 8 makes in any case. Where these show that tests vary, more: a test that is missing half of the
    time is missing in two runs of one tree, and in none of two others, once in 64 times."""
    yield from range(1, repeats)
    if varying([[tree(repeat) for repeat in range(repeats)] for tree in trees]):
        yield from range(repeats, MOST_ROUNDS)


def varying(trees: Sequence[Sequence[TestRun]]) -> frozenset[str]:
    """The tests whose outcome differs between runs of one tree. A test that only one run names (its id holds a time)
    is not among them: it says nothing of others."""
    named = Counter(test for runs in trees for run in runs for test in run.outcomes)
    return frozenset(test for runs in trees for test, times in odd_runs(runs).items() if times and named[test] > 1)


def odd_runs(runs: Sequence[TestRun]) -> dict[str, int]:
    """For each test the runs of a tree in which its outcome was not the usual one; a missing test is an outcome."""
    tests = {test for run in runs for test in run.outcomes}
    usual = {test: Counter(run.outcomes.get(test) for run in runs).most_common(1)[0][1] for test in tests}
    return {test: len(runs) - times for test, times in usual.items()}


def failing(bench: Workbench, bug: str) -> frozenset[str]:
    """F: the tests that pass on the original and fail or are missing under the full bug.

    A missing test counts as failing because grading requires "present and passed".
    """
    return bench.run().passed - variant(bench, bug).passed


def function_of(test: str) -> str:
    """The test to which this case's id belongs: `a.py::test_b` for `a.py::test_b[1-2]`, `a_test.go::TestB` for
    `a_test.go::TestB/one`."""
    file, mark, name = test.partition("::")
    return f"{file}{mark}{name.partition('/')[0]}" if file.endswith("_test.go") else test.partition("[")[0]
