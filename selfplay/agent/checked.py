"""Checks a dataclass that was read from a file: a field of another type than its annotation raises `TypeError`.

Not pydantic: it refuses surrogates, which our files contain in place of undecodable bytes.
"""

import dataclasses
import types
import typing
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
_PLAIN = (str, int, float, bool, dict, type(None))


def checked(value: T) -> T:
    """`value`, a dataclass, if every plain field has its type; other fields are checked by their own readers."""
    kind: Any = type(value)
    for name, kinds in _fields(kind).items():
        found = getattr(value, name)
        if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
            raise TypeError(f"{name} is {type(found).__name__}")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of strings as a tuple; empty if the list is missing. Raises `TypeError`."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError("not a list of strings")
    return tuple(value)


def number(value: object) -> int:
    """Raises `TypeError` for anything but an integer."""
    if type(value) is not int:
        raise TypeError(f"{type(value).__name__} where a number belongs")
    return value


@cache
def _fields(kind: Any) -> dict[str, tuple[type, ...]]:
    """Field name -> the types it may have, for the fields made of plain types."""
    found = {field.name: _kinds(field.type) for field in dataclasses.fields(kind)}
    return {name: kinds for name, kinds in found.items() if kinds}


def _kinds(hint: Any) -> tuple[type, ...]:
    """The plain types of an annotation; empty if it has other types. An integer may stand for a float."""
    union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    parts = [typing.get_origin(part) or part for part in (typing.get_args(hint) if union else (hint,))]
    if typing.get_origin(hint) is typing.Literal:
        parts = [type(word) for word in typing.get_args(hint)]
    if not all(part in _PLAIN for part in parts):
        return ()
    return (*parts, int) if float in parts else tuple(parts)
