"""Runs of some test files where a run of all would say no more: most of what a check costs is running the suite.

Only an artifact with our own script can say which files it runs; any other is run whole.
"""

from collections.abc import Collection

from selfplay.patches import PatchError, touched_paths
from selfplay.validators.common import variant, variant_seconds
from selfplay.workbench import TestRun, Workbench

MOST_SHARE = 0.5
"""The largest share of all tests for which a part is run: what it cannot show is run again whole."""


def file_of(test: str) -> str:
    """The test file of an id of our own scripts."""
    return test.partition("::")[0]


def part_of(bench: Workbench, files: Collection[str]) -> Workbench | None:
    """A workbench for these test files alone; None where they cannot be run alone, or hold most tests."""
    tests = bench.run().outcomes
    held = sum(file_of(test) in files for test in tests)
    return bench.of_files(files) if 0 < held <= MOST_SHARE * len(tests) else None


def buggy_again(bench: Workbench) -> TestRun:
    """A second run of the buggy tree, or an equal one: the same outcomes in the run with the weakening for all test
    files that it leaves alone, and in a run of the others without it. Where these two say anything else than the first
    run, the whole tree is run again."""
    bug = bench.artifact.bug_inject
    try:
        files = set(touched_paths(bench.artifact.test_weaken or ""))
    except PatchError:
        files = set()
    part = part_of(bench, files)
    if part is None:
        return variant(bench, bug, repeat=1)
    first, weakened = variant(bench, bug), variant(bench, *bench.artifact.diffs)
    again = part.run((bug,), repeat=1, time_limit=variant_seconds(bench))
    seen = {test: outcome for test, outcome in weakened.outcomes.items() if file_of(test) not in files}
    same = not again.failed_at and seen | {**again.outcomes} == {**first.outcomes}
    return first if same else variant(bench, bug, repeat=1)
