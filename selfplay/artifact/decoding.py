"""Reads untrusted JSON of a run's folder as values (`untrusted_json.py`), with readable errors."""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from selfplay.artifact.reading import UntrustedDataError
from selfplay.options import fault
from selfplay.plain_text import storable
from selfplay.untrusted_json import MOST_DEPTH, MOST_VALUES, AnswerError, count_values, json_value

__all__ = [
    "MOST_DEPTH", "MOST_VALUES", "count_values", "first_fault", "json_text", "parse_json", "text_memory", "typed",
]  # fmt: skip

_WIDE = re.compile(rb"[\xf0-\xff]|\\u[dD][89a-fA-F]")
M = TypeVar("M", bound=BaseModel)


def parse_json(data: bytes, what: str, *, values: int = MOST_VALUES, halves: bool = False) -> Any:
    """The value of `data`. `what`: its name in errors; `halves`: strings may hold undecodable bytes as surrogates, as
    in our own trajectories. Raises `UntrustedDataError`."""
    try:
        return json_value(data, values=values, characters="any" if halves else "whole")
    except AnswerError as error:
        raise UntrustedDataError(f"{what} {error}") from error


def json_text(value: Any) -> str:
    """The JSON of a value, as `parse_json` reads it: a text that is no Unicode is spelled out."""
    return json.dumps(storable(value))


def text_memory(data: bytes) -> int:
    """The most memory that a JSON text takes as a Python string: one emoji in it makes each character four bytes."""
    if data.isascii() and b"\\u" not in data:
        return len(data)
    return len(data) * (4 if _WIDE.search(data) else 2)


def typed(kind: type[M], value: Any, what: str, context: object = None) -> M:
    """Return `value` as the model `kind`. `context`: for the model's validators. Raises `UntrustedDataError`, naming
    the wrong field."""
    try:
        return kind.model_validate(value, context=context)
    except ValidationError as error:
        raise UntrustedDataError(f"{what}: {first_fault(error, value)}") from error


def first_fault(error: ValidationError, value: object = None) -> str:
    """The first wrong part of `value`, and why it is wrong, in our words; without the value, pydantic's name of the
    part."""
    where, said = fault(error, value, "an object (NAME: VALUE) is needed")
    where = where or ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"] if value is None)
    return f"{where[:200] or 'the document'}: {said[:500]}"
