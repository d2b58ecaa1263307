"""Our own parser, read here: an artifact that carries its text needs no sandbox for it.

A sandbox and a start of Python cost a twentieth of a short suite's run, at each run. The very file that artifacts carry
is what is called, so both ways say the same. Only what a log is expected to hold is read here: whatever is long, odd or
much goes to the sandbox, where a stranger's log may cost what it likes.
"""

import json

from selfplay.repository.inside import test_parser
from selfplay.repository.suites.pytest_suite import PARSER

MOST_LOG, MOST_LINES, MOST_LINE = 2 << 20, 40_000, 4_000
"""Bytes and lines of a log that is read here, and bytes of one line with a record: a value takes thirty bytes of memory
for each byte."""


def printed_by_our_own(parser: str, log: bytes) -> bytes | None:
    """What a parser would print for a log, if it is our own; None where only a sandbox may tell."""
    if parser != PARSER or not _is_expected(log):
        return None
    try:
        return json.dumps(test_parser.parse(log)).encode("ascii")  # type: ignore[no-untyped-call]
    except (ValueError, RecursionError):
        return None


def _is_expected(log: bytes) -> bool:
    if len(log) > MOST_LOG or log.count(b"\n") > MOST_LINES:
        return False
    return all(len(line) <= MOST_LINE for line in log.split(b"\n") if test_parser.PREFIX in line)
