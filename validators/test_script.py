"""Check 3. On the original the script ends in time, enough tests pass, and none of the chosen tests fails."""

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.validators.common import fails, few, passes
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "test_script"


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    clean = bench.run()
    if clean.timed_out or clean.seconds > thresholds.seconds:
        limit = min(thresholds.seconds, bench.time_limit)
        return fails(NAME, f"test_script.sh does not end within {limit:g} s on the original", log_tail=clean.log_tail)
    if clean.truncated:
        return fails(NAME, "test_script.sh floods its output: the log was cut", log_tail=clean.log_tail)
    if clean.failed_at:
        return fails(NAME, clean.error, log_tail=clean.log_tail)
    if clean.failed:
        fail = count(len(clean.failed), "test of the original fails", "tests of the original fail")
        return fails(NAME, f"{fail}: {few(clean.failed)}", failed=sorted(clean.failed)[:50])
    if len(clean.passed) < thresholds.min_passing_tests:
        found = count(len(clean.passed), "test passes", "tests pass")
        return fails(NAME, f"only {found} on the original; at least {thresholds.min_passing_tests} are required")
    reason = f"{count(len(clean.passed), 'test passes', 'tests pass')} on the original in {clean.seconds:.2f} s"
    return passes(NAME, reason, passing=len(clean.passed), exit_code=clean.exit_code)
