"""Segments on disk: exact ids, float32 log-probabilities, and what a damaged line is answered with."""

import json
from array import array
from typing import Any

import pytest

from selfplay.agent.tape import SampledSpan, Segment
from selfplay.agent.trajectory_segments import read_segment, segment_line, segment_lines

SEGMENT = Segment(
    array("i", [1, 2, 2**31 - 1, 0, 9]), array("b", [0, 0, 1, 0, 1]), array("d", [0.0, 0.0, -0.5, 0.0, -11.25]), (3, 5),
    "solver", "length", (SampledSpan(2, 3, (3, 3), "stop", True), SampledSpan(4, 5, (4, 5), "length")),
)  # fmt: skip


def through_json(segment: Segment) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(segment_line(segment)))
    return found


def test_a_segment_comes_back_as_it_was() -> None:
    assert read_segment(through_json(SEGMENT)) == SEGMENT


def test_log_probabilities_keep_the_precision_of_an_engine() -> None:
    exact = -0.1234567890123
    (back,) = read_segment(
        through_json(Segment(array("i", [1]), array("b", [1]), array("d", [exact]), (0, 0), "s", "stop"))
    ).logprobs
    assert back == pytest.approx(exact, rel=2**-24) and back == array("f", [exact])[0]


def test_a_long_segment_takes_less_than_half_of_a_list() -> None:
    ids, numbers = array("i", range(100_000)), array("d", [-1 / (n + 3) for n in range(100_000)])
    long = Segment(ids, array("b", [1]) * 100_000, numbers, (0, 0), "solver", "stop")
    lists = {"ids": ids.tolist(), "mask": long.mask.tolist(), "logprobs": numbers.tolist()}
    assert len(json.dumps(segment_line(long))) < 0.45 * len(json.dumps(lists))  # 12 characters an id instead of 32


@pytest.mark.parametrize(
    "change",
    [
        {"ids": "not base64!"},
        {"ids": "AAAA"},  # three bytes are no whole id
        {"ids": 7},
        {"mask": [0]},
        {"ids": [1, 2, 3, 4, 2**40]},
        {"versions": [1]},
        {"versions": ["a", "b"]},
        {"role": 3},
        {"stretches": [[2, 3, [3, 3], "stop", "yes"]]},
        {"stretches": [[2, 9, [3, 3], "stop", True]]},
        {"stretches": [[4, 5, [3, 3], "stop", True], [2, 3, [3, 3], "stop", True]]},
        {"stretches": [[-1, 3, [3, 3], "stop", True]]},
        {"stretches": 4},
    ],
)
def test_a_damaged_line_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, KeyError, OverflowError)):
        read_segment({**through_json(SEGMENT), **change})


def _of(given: list[int], sampled: list[int]) -> Segment:
    ids, mask = array("i", [*given, *sampled]), array("b", [0] * len(given) + [1] * len(sampled))
    numbers = array("d", [0.0] * len(given) + [-0.5] * len(sampled))
    return Segment(ids, mask, numbers, (0, 0), "solver", "stop", (SampledSpan(len(given), len(ids), (0, 0), "stop"),))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (_of([1, 2, 3], [4, 5]), _of([1, 2, 3, 4, 5, 6], [7]), 5),  # the usual next turn
        (_of([1, 2, 3], [4, 5]), _of([1, 2, 3, 5, 6], [7]), 3),  # a template took a thought away
        (_of([1, 2, 3], [4, 5]), _of([1, 2], [3, 4]), 2),  # what was sampled is always written
        (_of([1, 2, 3], [4, 5]), _of([9, 2, 3], [4]), 0),
        (_of([1], [2]), _of([], [1, 2]), 0),
        (_of([1, 2], []), _of([1, 2], []), 2),
    ],
)
def test_a_segment_that_begins_as_the_one_before_holds_the_rest(first: Segment, second: Segment, same: int) -> None:
    lines = json.loads(json.dumps(segment_lines([first, second])))
    assert lines[1].get("same", 0) == same and "same" not in lines[0]
    read = read_segment(lines[0])
    assert read == first and read_segment(lines[1], read) == second


@pytest.mark.parametrize("same", [-1, 6, "1", 1.5, True])
def test_a_beginning_that_is_not_there_is_refused(same: object) -> None:
    line = {**through_json(SEGMENT), "same": same}
    with pytest.raises((ValueError, TypeError)):
        read_segment(line, SEGMENT)
    with pytest.raises((ValueError, TypeError)):
        read_segment({**line, "same": 1}, None)
