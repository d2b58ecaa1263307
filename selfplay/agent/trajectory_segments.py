"""Segments in a trajectory file: arrays as base64 of little-endian numbers, and the sampled stretches.

Ids take four bytes, masks one, log-probabilities four (engines give float32); a JSON double takes up to 20. Older files
(before format 3) hold lists and can be read.
"""

import base64
import sys
from array import array
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from selfplay.agent.checked import checked, number
from selfplay.agent.tape import SampledSpan, Segment

STORED = {"ids": "i", "mask": "b", "logprobs": "f"}
"""Field -> how an item is stored, as `array` names it."""
HELD = {"ids": "i", "mask": "b", "logprobs": "d"}
"""Field -> how an item is held in memory."""


def segment_line(segment: Segment) -> dict[str, Any]:
    """A segment as JSON values."""
    arrays = {name: _packed(getattr(segment, name), kind) for name, kind in STORED.items()}
    stretches = [list(asdict(one).values()) for one in segment.stretches]
    rest = {"versions": segment.versions, "role": segment.role, "finish": segment.finish}
    return {**arrays, **rest, "stretches": stretches}


def read_segment(line: Mapping[str, Any]) -> Segment:
    """The segment in a line of an untrusted file. Raises `ValueError`, `TypeError`, `KeyError` or `OverflowError` if it
    is not one."""
    ids, mask, logprobs = (_unpacked(line[name], kind, HELD[name]) for name, kind in STORED.items())
    if not len(ids) == len(mask) == len(logprobs):
        raise ValueError("ids, mask and logprobs differ in length")
    stretches = tuple(_stretch(one) for one in line.get("stretches", ()))
    ends = [0, *(place for one in stretches for place in (one.start, one.end)), len(ids)]
    if ends != sorted(ends):
        raise ValueError("the stretches of a segment overlap, are out of order or leave it")
    first, last = line["versions"]
    versions = number(first), number(last)
    return checked(Segment(ids, mask, logprobs, versions, line["role"], line["finish"], stretches))


def _stretch(fields: Any) -> SampledSpan:
    start, end, (first, last), finish, malformed = fields
    return checked(SampledSpan(number(start), number(end), (number(first), number(last)), finish, malformed))


def _packed(values: "array[Any]", kind: str) -> str:
    packed = array(kind, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode("ascii")


def _unpacked(stored: Any, kind: str, held: str) -> "array[Any]":
    if isinstance(stored, list):
        return array(held, stored)
    values = array(kind)
    values.frombytes(base64.b64decode(stored, validate=True))
    if sys.byteorder == "big":
        values.byteswap()
    return array(held, values)
