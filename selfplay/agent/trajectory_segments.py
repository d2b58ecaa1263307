"""Segments in a trajectory file: arrays as base64 of little-endian numbers, and the sampled stretches.

Ids take four bytes, masks one, log-probabilities four (engines give float32); a JSON double takes up to 20. A segment
that begins as the one before, as each does where a chat template rewrites the history, holds only the rest. Older files
(before format 3) hold lists and can be read.
"""

import base64
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from selfplay.agent.checked import checked, number
from selfplay.agent.tape import SampledSpan, Segment

STORED = {"ids": "i", "mask": "b", "logprobs": "f"}
"""Field -> how an item is stored, as `array` names it."""
HELD = {"ids": "i", "mask": "b", "logprobs": "d"}
"""Field -> how an item is held in memory."""


def segment_lines(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    """Segments as JSON values."""
    return [segment_line(one, before) for before, one in zip((None, *segments), segments, strict=False)]


def segment_line(segment: Segment, before: Segment | None = None) -> dict[str, Any]:
    """A segment as JSON values. `before`: the one in the line before."""
    same = _same(segment, before) if before is not None else 0
    arrays = {name: _packed(getattr(segment, name)[same:], kind) for name, kind in STORED.items()}
    stretches = [list(asdict(one).values()) for one in segment.stretches]
    rest = {"versions": segment.versions, "role": segment.role, "finish": segment.finish}
    return {**arrays, **rest, "stretches": stretches, **({"same": same} if same else {})}


def _same(segment: Segment, before: Segment) -> int:
    """How many ids a segment has in common with the one before, as far as none of them was sampled in it."""
    low, high = 0, min(segment.mask.index(1) if 1 in segment.mask else len(segment.ids), len(before.ids))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if segment.ids[:middle] == before.ids[:middle] else (low, middle - 1)
    return low if not any(segment.logprobs[:low]) else 0


def read_segment(line: Mapping[str, Any], before: Segment | None = None) -> Segment:
    """The segment in a line of an untrusted file. `before`: the one in the line before. Raises `ValueError`,
    `TypeError`, `KeyError` or `OverflowError` if it is not one."""
    ids, mask, logprobs = (_unpacked(line[name], kind, HELD[name]) for name, kind in STORED.items())
    if not len(ids) == len(mask) == len(logprobs):
        raise ValueError("ids, mask and logprobs differ in length")
    same = number(line.get("same", 0))
    if not 0 <= same <= (len(before.ids) if before is not None else 0):
        raise ValueError("a segment begins as one that is not there")
    if before is not None and same:
        ids = before.ids[:same] + ids
        mask, logprobs = array("b", bytes(same)) + mask, array("d", bytes(8 * same)) + logprobs
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
