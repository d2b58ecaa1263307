"""Check 6. With the weakening on top, some test that fails under the bug passes or is gone, and the suite works.

"Works" means: the script ends, the parser reads it, and no test fails that did not fail under the bug. Without the
last part a weakening that breaks its own test file would count as hiding every test in it.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.patches import PatchError, parse
from selfplay.validators.common import count, failing, fails, few, passes, unusable, variant
from selfplay.validators.hints import find_hint
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "weakening"


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    try:
        hint = find_hint(parse(artifact.test_weaken))
    except PatchError as error:
        return fails(NAME, f"test_weaken.diff: {error.message}")
    if hint:
        return fails(NAME, f"test_weaken.diff {hint}")
    weakened = variant(bench, artifact.bug_inject, artifact.test_weaken)
    if reason := unusable(weakened, "with the weakening"):
        return fails(NAME, reason, log_tail=weakened.log_tail)
    broken = failing(bench, artifact.bug_inject)
    if new := weakened.failed - broken:
        return fails(NAME, f"the weakening breaks {count(len(new), 'test')}: {few(new)}", log_tail=weakened.log_tail)
    passing, gone = broken & weakened.passed, broken - weakened.outcomes.keys()
    if not passing and not gone:
        return fails(NAME, f"the weakening hides none of the {count(len(broken), 'failing test')}")
    reason = f"hides {len(passing) + len(gone)} of {count(len(broken), 'failing test')}"
    reason += f": {len(passing)} pass, {len(gone)} are gone"
    return passes(NAME, reason, passing=len(passing), gone=len(gone), visible=len(broken & weakened.failed))
