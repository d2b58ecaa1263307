"""What our own parser says of a log is the same with and without a sandbox, and a log that costs much goes into one."""

import random
import time

import pytest

from selfplay.repository.suites.pytest_suite import PARSER
from selfplay.sandbox import Backend, Limits, World
from selfplay.workbench import ParserError
from selfplay.workbench.own_parser import MOST_LINE, MOST_LINES, MOST_LOG, printed_by_our_own
from selfplay.workbench.parsing import parse_log, read_outcomes

PIECES = (
    b'SELFPLAY {"id": "a.py::t"', b'SELFPLAY {"id": "b.py::\\ud800"', b'SELFPLAY {"id": "\\u00e9 x"', b"SELFPLAY {",
    b', "outcome": "passed"}', b', "outcome": "failed", "seconds": 0.1}', b', "outcome": "skipped"}',
    b', "outcome": []}', b"\n", b"\n", b"\n", b"}", b"{", b"\xff", b'"', b'"id": "c"', b"[" * 1200, b"9" * 5000,
    b"1e999", b"SELFPLAY-END exit=0",
)  # fmt: skip


def _said(ask) -> object:
    """The outcomes, or what is said instead of them; of a parser that broke, only that it did."""
    try:
        return ask()
    except ParserError as error:
        return str(error).partition(":")[0]


@pytest.mark.slow
def test_a_log_says_the_same_here_and_in_a_sandbox(backend: Backend) -> None:
    """The other text is a parser to which nothing of ours is known, and does the same."""
    other, rng, here = PARSER + "\n", random.Random(7), 0
    for _ in range(40):
        log = b"".join(rng.choices(PIECES, k=rng.randrange(12)))
        assert printed_by_our_own(other, log) is None
        boxed = _said(lambda log=log: parse_log(backend, World(), Limits(), other, log))
        printed = printed_by_our_own(PARSER, log)
        assert _said(lambda log=log: parse_log(backend, World(), Limits(), PARSER, log)) == boxed
        if printed is not None:
            here += 1
            assert _said(lambda printed=printed: read_outcomes(printed)) == boxed
    assert here > 10


def test_our_own_parser_opens_no_sandbox() -> None:
    log = b'SELFPLAY {"id": "t.py::a", "outcome": "passed"}\nSELFPLAY {"id": "t.py::b"'
    assert parse_log(None, World(), Limits(), PARSER, log) == {"t.py::a": "passed", "t.py::b": "failed"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "log",
    [
        b"x" * (MOST_LOG + 1),
        b"\n" * (MOST_LINES + 1),
        b'SELFPLAY {"id": "' + b"x" * MOST_LINE,
        b'SELFPLAY {"id": ' + b"[" * 1100,  # deeper than Python's parser of JSON goes
    ],
)
def test_what_may_cost_much_goes_to_a_sandbox(log: bytes) -> None:
    assert printed_by_our_own(PARSER, log) is None


def test_the_worst_log_that_is_read_here_takes_little_time() -> None:
    """Each record is tried twice, and each failure is an exception."""
    log = b"SELFPLAY {\n" * MOST_LINES
    began = time.process_time()
    printed_by_our_own(PARSER, log)
    assert time.process_time() - began < 2
