"""JSON of strangers: what Python's reader would take in silence, or at any price, is an error in words."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as some

from selfplay.artifact.decoding import MOST_DEPTH, count_values, parse_json, text_memory
from selfplay.artifact.reading import UntrustedDataError

PLAIN = some.recursive(
    some.none() | some.booleans() | some.integers(-(2**63), 2**63 - 1)
    | some.floats(-(2.0**63), 2.0**63, exclude_max=True)
    | some.text(some.characters(codec="utf-8")),
    lambda inner: some.lists(inner) | some.dictionaries(some.text(some.characters(codec="utf-8")), inner),
    max_leaves=20,
)  # fmt: skip


@given(PLAIN)
def test_what_we_write_is_read(value: object) -> None:
    for data in (json.dumps(value).encode(), json.dumps(value, ensure_ascii=False).encode()):
        assert parse_json(data, "it") == value


@given(some.binary(max_size=200) | some.text(alphabet='[]{}",:0123456789eE.-\\ud8nNtfI ', max_size=60).map(str.encode))
def test_anything_else_is_an_error_of_ours(data: bytes) -> None:
    try:
        parse_json(data, "it")
    except UntrustedDataError as error:
        assert error.message.startswith("it ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NaN", "NaN is not a number"),
        ("[-Infinity]", "Infinity is not a number"),
        ("1e999", "too large a number"),
        ("1" + "0" * 30, "a number of 31 digits"),
        ("9223372036854775808", "a number of 19 digits"),
        ('{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        ('"\\ud800"', "holds a lone surrogate"),
        ("[" * 100_000, "is nested too deeply"),
        ("[" * 65 + "]" * 65, f"is nested more than {MOST_DEPTH} deep"),
        ("", "is not JSON"),
        ("\ufeff1", "is not JSON"),
    ],
)
def test_what_is_refused_is_named(text: str, said: str) -> None:
    with pytest.raises(UntrustedDataError, match=said):
        parse_json(text.encode(), "it")


def test_what_is_allowed_up_to_a_bound() -> None:
    assert parse_json(b"[" * 64 + b"]" * 64, "it")
    assert parse_json(b'"\\ud83d\\ude00"', "it") == "\U0001f600"
    assert parse_json(b'"\\udce9"', "it", halves=True) == "\udce9"  # an undecodable byte, as our trajectories hold them


def test_values_are_counted_before_they_are_made() -> None:
    data = b"[" + b"[]," * 400_000 + b"0]"
    assert count_values(data) > 800_000
    tracemalloc.start()
    with pytest.raises(UntrustedDataError, match="may hold 800002 values; at most 500000 are taken"):
        parse_json(data, "it")
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


@given(some.text(some.characters(codec="utf-8"), min_size=1))
def test_the_memory_of_a_text_is_not_underestimated(text: str) -> None:
    for data in (json.dumps(text).encode(), json.dumps(text, ensure_ascii=False).encode()):
        wide = 1 if text.isascii() else 2 if max(text) < "\U00010000" else 4
        assert text_memory(data) >= len(text) * wide
