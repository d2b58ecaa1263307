"""Values of a training run's ledger, read as a stranger's: some come into the pool, or into names of files."""

from typing import Any, cast

from selfplay.artifact.bug import is_bug_id
from selfplay.curriculum.records import MOST_ADDED_TO
from selfplay.loop.step_record import StepRecord
from selfplay.untrusted_json import answer, json_value

Attempted = list[tuple[str, int]]
"""Attempts of a step: the bug of each, and its number."""


def attempted(text: str) -> Attempted:
    """The attempts of a plan. Files are named after its bugs, and rows of the pool are numbered: another text than a
    bug's name, or another number than a count, raises `ValueError`."""
    found = answer(Attempted, text.encode())
    for bug, number in found:
        if not is_bug_id(bug):
            raise ValueError(f"a plan names {bug[:80]!r}, which is no bug")
        if not is_count(number):
            raise ValueError(f"a plan names attempt {number} of {bug}")
    return found


def is_count(value: object) -> bool:
    """Whether the pool takes it as a number of episodes or attempts, and more of them after it."""
    return type(value) is int and 0 <= value < MOST_ADDED_TO


def step_record(text: str) -> StepRecord:
    """A step as `finish` stored it. One of an earlier version may lack fields, so pages read it as tolerantly as
    `metrics.jsonl`. Raises `ValueError` for another shape."""
    found = stored_value(text)
    if not isinstance(found, dict):
        raise ValueError("a step's figures are no object")
    return cast(StepRecord, found)


def stored_value(text: str) -> Any:
    """A stored value, which is untrusted."""
    return json_value(text.encode())
