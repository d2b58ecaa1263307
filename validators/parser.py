"""Check 2. The parser turns the script's output on the original into a map of outcomes, in a sandbox.

If the script did not finish, this check passes and the next one reports it: a partial log says nothing about the
parser.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.formatting import count
from selfplay.validators.common import fails, passes
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "parser"


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    clean = bench.run()
    if clean.timed_out or clean.truncated or clean.failed_at == "script":
        return passes(NAME, "not judged: the test script did not run to its end")
    if clean.failed_at:
        return fails(NAME, clean.error, log_tail=clean.log_tail)
    return passes(NAME, f"{count(len(clean.outcomes), 'test')} read from the log")
