"""Check 3. On the original the script ends in time, enough tests pass, and none of the chosen tests fails each time.

Where a test fails, the original is run again, as check 8 does anyway. One that then passes varies (it measures time,
and the machine was busy): check 8 leaves it out.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.validators.common import fails, few, never_passing, passes
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
    if failed := never_passing(clean.failed, lambda repeat: bench.run(repeat=repeat), thresholds.repeats):
        fail = count(len(failed), "test of the original fails", "tests of the original fail")
        return fails(NAME, f"{fail}: {few(failed)}", failed=sorted(failed)[:50])
    if len(clean.passed) < thresholds.min_passing_tests:
        found = count(len(clean.passed), "test passes", "tests pass")
        return fails(NAME, f"only {found} on the original; at least {thresholds.min_passing_tests} are required")
    reason = f"{count(len(clean.passed), 'test passes', 'tests pass')} on the original in {clean.seconds:.2f} s"
    reason += f"; {count(len(clean.failed), 'fails', 'fail')} at times ({few(clean.failed, 2)})" if clean.failed else ""
    return passes(NAME, reason, passing=len(clean.passed), exit_code=clean.exit_code)
