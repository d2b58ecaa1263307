"""What is read of the witness's record: signed lines in order, and nothing a program that knows the key can break."""

import hmac

import pytest

from selfplay.oracle.trial import Witnessed, read_witness

KEY = b"key"


def signed(*records: str) -> bytes:
    """The record of these lines, each with its signature."""
    lines = [record.encode() for record in records]
    return b"".join(hmac.new(KEY, line, "sha256").hexdigest().encode() + b" " + line + b"\n" for line in lines)


def test_what_is_signed_and_in_order_is_read() -> None:
    data = signed('[1, "test", "t::a", "passed"]', '[2, "replaced", "m.f", ""]', '[3, "end", "", 1]')
    assert read_witness(data, KEY) == Witnessed({"t::a": "passed"}, ["m.f"], [], 1)
    assert read_witness(data, b"another key") == Witnessed()
    assert read_witness(signed('[2, "test", "t::a", "passed"]'), KEY) == Witnessed()


@pytest.mark.parametrize("record", [
    "5", "null", "[]", "{}", '{"a": 1, "b": 2, "c": 3, "d": 4}', '"abcd"', '[2, "test", [], "passed"]', "no JSON",
    '[2, "test", {}, "passed"]', '[2, "test", "t::b", {}]', '[2, "end", "", []]', '[2, "test", "t::b", "passed", 0]',
    "[" * 100_000, "1" * 10_000, '[2, "end", "", 1e999]', '[true, "test", "t::b", "passed"]',
])  # fmt: skip
def test_a_signed_line_that_is_not_a_record_ends_the_record(record: str) -> None:
    """It raised once, and took the grading of every other prediction with it. Without an end nothing is resolved."""
    data = signed('[1, "test", "t::a", "passed"]', record, '[3, "end", "", 0]')
    assert read_witness(data, KEY) == Witnessed({"t::a": "passed"})


def test_an_end_without_a_status_is_none() -> None:
    assert read_witness(signed('[1, "end", "", "zero"]'), KEY) == Witnessed()


def test_an_event_has_a_kind_a_place_and_a_detail() -> None:
    data = signed('[1, "event", "frames\\nledger/money.py", "sys._getframe"]', '[2, "event", "code", "exec"]')
    assert read_witness(data, KEY).events == [("frames", "ledger/money.py", "sys._getframe"), ("code", "", "exec")]
