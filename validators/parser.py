"""Check 2. The parser turns the script's output on the original into a map of outcomes, in a sandbox.

A script that did not run to its end is the next check's matter: what it left of a log proves nothing of the parser.
"""

from selfplay.artifact import Artifact, Verdict
from selfplay.validators.common import count, fails, passes
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

NAME = "parser"


def check(artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    clean = bench.run()
    if clean.timed_out or clean.truncated or clean.stage == "script":
        return passes(NAME, "not judged: the test script did not run to its end")
    if clean.stage:
        return fails(NAME, clean.error, log_tail=clean.log_tail)
    return passes(NAME, f"{count(len(clean.outcomes), 'test')} read from the log")
