"""Check 7. Every file of the bug matters: when only that file is restored, some failing test passes.

A file is restored by applying the bug without it. So deleted files come back, added ones are missing, and renames,
modes and binary content are restored exactly. Sections that cannot be applied separately (two files that swap names)
count as one. For a bug in one file the variant is the original itself, whose run is in the cache.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.patches import FilePatch, join, units
from selfplay.plain_text import shown
from selfplay.validators.common import failing, fails, few, passes, variant
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "inverse_mutation"


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    broken = failing(bench, artifact.bug_inject)
    groups = units(artifact.bug_inject)
    flips: dict[str, int] = {}
    for unit in groups:
        rest = join(patch for other in groups if other is not unit for patch in other)
        run = variant(bench, rest) if rest else bench.run()
        if run.failed_at == "apply":
            return fails(NAME, f"the bug without {few(_names(unit))} does not apply: {run.error}")
        if not broken & run.passed:
            return fails(NAME, f"restoring {few(_names(unit))} alone makes no failing test pass", flips=flips)
        flips[shown(unit[0].path)] = len(broken & run.passed)
    return passes(NAME, f"each of {count(len(groups), 'changed file')} matters", flips=flips)


def _names(unit: tuple[FilePatch, ...]) -> set[str]:
    return {path for patch in unit for path in patch.paths}
