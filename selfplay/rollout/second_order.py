"""Measures a second-order bug: how the tests behave on a buggy tree plus a failed attempt at it."""

from collections.abc import Iterable
from dataclasses import replace

from selfplay.artifact import Verdict
from selfplay.formatting import count
from selfplay.workbench import Workbench

MEASURES = 2
"""Number of runs; tests that differ between them are flaky."""
Measured = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Verdict]


def measure_second_order(bench: Workbench, stable: Iterable[str], flaky: Iterable[str], diff: str) -> Measured | str:
    """(F2P, P2P, flaky, verdict) of the buggy tree plus `diff`, or why it is not a bug. Tests that differ between the
    runs are flaky.

    `stable`, `flaky`: the ids that pass on the original, as the first-order bug was measured (F2P and P2P), and those
    that vary there; others do not count. `bench` is the workbench of its artifact."""
    wanted, artifact = frozenset(stable), bench.artifact
    before = replace(bench.meter)
    limit = 10 * bench.run().seconds + 10  # as for a first-order bug: a tree that hangs is rejected
    diffs = (*artifact.diffs, diff)
    runs = [
        bench.run(diffs, repeat=repeat, restore=artifact.test_files, time_limit=limit) for repeat in range(MEASURES)
    ]
    if any(run.failed_at or run.timed_out for run in runs):
        broken = next(run for run in runs if run.failed_at or run.timed_out)
        return "hangs" if broken.timed_out else f"no results: {broken.error}"
    always = frozenset.intersection(*(run.passed for run in runs)) & wanted
    ever = frozenset.union(*(run.passed for run in runs)) & wanted
    varied, fails = tuple(sorted({*flaky, *(ever - always)})), tuple(sorted(wanted - ever))
    if not fails or not always:
        return "nothing fails" if not fails else "nothing passes"
    said = f"with the failed attempt, {count(len(fails), 'test')} failed, {len(always)} passed"
    seconds, spent = bench.meter.seconds - before.seconds, bench.meter.runs - before.runs
    verdict = Verdict("second order", True, said, seconds=seconds, runs=spent)
    return fails, tuple(sorted(always)), varied, verdict
