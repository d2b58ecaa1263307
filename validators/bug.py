"""Check 5. Under the bug, enough tests that passed on the original fail, and at least one still passes.

Stricter than the paper: the script must also end. A suite that hangs looks like a slow one and would cost every later
run.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.validators.common import count, failing, fails, few, passes, unusable, variant
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "bug"
MOST_MESSAGES = 20


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    buggy = variant(bench, artifact.bug_inject)
    if reason := unusable(buggy, "under the bug"):
        return fails(NAME, reason, log_tail=buggy.log_tail)
    broken = failing(bench, artifact.bug_inject)
    if len(broken) < thresholds.min_failing_tests:
        tests = count(len(broken), "test") if broken else "no test"
        return fails(NAME, f"the bug makes {tests} fail; at least {thresholds.min_failing_tests} are required")
    survivors = bench.run().passed & buggy.passed
    if not survivors:
        return fails(NAME, "no test that passed on the original still passes under the bug")
    gone = broken - buggy.failed
    said = {test: buggy.messages[test] for test in sorted(broken & buggy.messages.keys())[:MOST_MESSAGES]}
    reason = f"{count(len(broken), 'test')} fail ({few(broken, 2)}), {len(survivors)} still pass"
    return passes(NAME, reason, failing=len(broken), missing=len(gone), passing=len(survivors), messages=said)
