"""Check 7. Every file of the bug matters: when only that file is restored, some failing test passes.

A file is restored by applying the bug without it. So deleted files come back, added ones are missing, and renames,
modes and binary content are restored exactly. Sections that cannot be applied separately (two files that swap names)
count as one. For a bug in one file the variant is the original itself, whose run is in the cache. The files of the
failing tests are run alone where that is possible; that none passes there, a whole run confirms.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.patches import FilePatch, join, units
from selfplay.plain_text import shown
from selfplay.validators.common import failing, fails, few, passes, variant, variant_seconds
from selfplay.validators.partial_runs import file_of, part_of
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import TestRun, Workbench

NAME = "inverse_mutation"


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    broken = failing(bench, artifact.bug_inject)
    groups = units(artifact.bug_inject)
    flips: dict[str, int] = {}
    for unit in groups:
        rest = join(patch for other in groups if other is not unit for patch in other)
        run = _run_without(bench, rest, broken)
        if run.failed_at == "apply":
            return fails(NAME, f"the bug without {few(_names(unit))} does not apply: {run.error}")
        if not broken & run.passed:
            return fails(NAME, f"restoring {few(_names(unit))} alone makes no failing test pass", flips=flips)
        flips[shown(unit[0].path)] = len(broken & run.passed)
    return passes(NAME, f"each of {count(len(groups), 'changed file')} matters", flips=flips)


def _run_without(bench: Workbench, rest: str, broken: frozenset[str]) -> TestRun:
    """A run of the original with the `rest` of the bug, or of the files of the tests that it breaks."""
    if not rest:
        return bench.run()
    part = part_of(bench, {file_of(test) for test in broken})
    run = part.run((rest,), time_limit=variant_seconds(bench)) if part else None
    return run if run and broken & run.passed else variant(bench, rest)


def _names(unit: tuple[FilePatch, ...]) -> set[str]:
    return {path for patch in unit for path in patch.paths}
