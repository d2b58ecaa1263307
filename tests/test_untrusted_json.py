"""Every place where an answer from a sandbox is read: a hostile one is a value or our error, at a small price."""

import base64
import tracemalloc
from collections.abc import Callable, Generator
from typing import Any

import pytest
from hostile_answers import HOSTILE, many
from hypothesis import given
from hypothesis import strategies as some

from selfplay.errors import SelfplayError
from selfplay.oracle import trial, world
from selfplay.oracle.behaviour import signed, traced_calls
from selfplay.oracle.leak_audit import audit
from selfplay.repository.building import checking
from selfplay.repository.fetching import reading
from selfplay.repository.suites import pytest_suite
from selfplay.roles.injector import staged
from selfplay.scripted import tools
from selfplay.scripted.injector import steps, traced
from selfplay.scripted.policy import Stuck
from selfplay.untrusted_json import AnswerError, answer, inflated
from selfplay.workbench import ParserError, read_outcomes

OURS = (SelfplayError, ValueError, Stuck, ParserError, reading.MalformedAnswer)


def text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


PLACES: dict[str, Callable[[bytes], Any]] = {
    "the search for leaks": audit.read,
    "the manifest": world.read_manifest,
    "git data": lambda data: answer(world.Stripped, data),
    "a signed line": lambda data: signed.read_signed(signed._mac("key", b"", data) + b" " + data, "key"),
    "a record": lambda data: signed.read_signed(data, "key"),
    "what was entered": traced_calls.read_entered,
    "the witness": lambda data: trial._record(data),
    "records": lambda data: pytest_suite.parse_records(b"\nSELFPLAY " + data + b"\n"),
    "coverage": pytest_suite.parse_coverage,
    "a packed report": lambda data: inflated(data, 1 << 20, gzip=True),
    "the build's report": checking.read_report,
    "a source": lambda data: reading.decoded(reading.ReaderAnswer, data),
    "the parser": read_outcomes,
    "where modules are": lambda data: traced.elsewhere(data, ["pkg"]),
    "the probe": lambda data: steps.read_report(text(data).splitlines() or [""]),
    "a stage": lambda data: staged._failing(text(data)),
    "the solver's report": lambda data: tools.told(dict[str, Any], text(data)),
    "packed text": lambda data: tools.unpack(base64.b64encode(data).decode()),
}


@pytest.fixture(scope="module")
def large() -> Generator[bytes, None, None]:
    yield many()


@pytest.mark.parametrize("said", HOSTILE)
@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_answer_is_an_error_of_ours(place: str, said: str) -> None:
    try:
        PLACES[place](HOSTILE[said])
    except OURS as error:
        assert len(str(error)) < 1000


@given(some.binary(max_size=80) | some.text(alphabet='[]{}",:0123456789eE.-\\ud8nNtfI ', max_size=60).map(str.encode))
def test_so_is_any_other(data: bytes) -> None:
    for read in PLACES.values():
        try:
            read(data)
        except OURS as error:
            assert len(str(error)) < 1000


@pytest.mark.parametrize("place", PLACES)
def test_ten_million_values_cost_little(place: str, large: bytes) -> None:
    tracemalloc.start()
    try:
        PLACES[place](large)
    except OURS as error:
        assert len(str(error)) < 1000
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 200 << 20


def test_a_record_is_taken_as_it_is_or_not_at_all() -> None:
    log = b'SELFPLAY {"id": "a::x", "outcome": "passed", "seconds": 1}\nSELFPLAY {"id": "\\udce9::x"}\n'
    log += b"".join(b"SELFPLAY " + HOSTILE[name] + b"\n" for name in ("a lone half", "a NUL", "a huge second"))
    assert [record.id for record in pytest_suite.parse_records(log)] == ["a::x", "\udce9::x"]
    for data in (b"1.5", b"true", b'"1"'):
        with pytest.raises(AnswerError):
            answer(int, data)
