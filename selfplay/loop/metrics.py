"""Reads the figures of a run's steps from `metrics.jsonl` as typed values.

A run's folder is untrusted: a value of the wrong type is ignored.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfplay.artifact.reading import MIB, MissingError, UntrustedDataError, read_below
from selfplay.loop.errors import TrainingError
from selfplay.untrusted_json import AnswerError, json_value, lines

METRICS = "metrics.jsonl"
MOST_BYTES = 32 * MIB
MOST_STEPS = 20_000
MOST_COUNTS = 50
"""The most names in a table of counts."""
Figures = Mapping[str, Any]
"""A step."""


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The steps of the training run in that folder; empty without training. Raises `TrainingError` for a file that
    selfplay did not write."""
    path = folder / METRICS
    try:
        data = read_below(folder, METRICS, MOST_BYTES)
    except MissingError:
        return []
    except UntrustedDataError as error:
        raise TrainingError(error.message, error.hint) from error
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines(data), 1):
        try:
            step = json_value(line)
        except AnswerError as error:
            raise TrainingError(f"{path}, line {number}: it {error}", "The run's next step rewrites it.") from error
        if not isinstance(step, dict) or number > MOST_STEPS:
            what = f"more than {MOST_STEPS} steps" if number > MOST_STEPS else "it does not hold a step's figures"
            raise TrainingError(f"{path}, line {number}: {what}", "Did selfplay write it?")
        found.append(step)
    return found


def part(step: Figures, *names: str) -> Figures:
    """A table inside the figures; empty if it is missing."""
    for name in names:
        found = step.get(name)
        step = found if isinstance(found, Mapping) else {}
    return step


def number(step: Figures, *names: str) -> float | None:
    """A number inside the figures; None if it is missing."""
    found: Any = part(step, *names[:-1]).get(names[-1])
    wanted = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if wanted and math.isfinite(found) else None


def counts(step: Figures, *names: str) -> dict[str, int]:
    """A table of counts inside the figures; other values are left out."""
    found = part(step, *names)
    return {name: value for name, value in [*found.items()][:MOST_COUNTS] if type(value) is int and value >= 0}
