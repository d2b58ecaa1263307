"""Reads answers that untrusted code may have written: checks their size before parsing, then their type.

Our programs run beside untrusted code, which may answer in their place. Python's JSON reader accepts a list of empty
lists that takes twenty times its size in memory, numbers of any length, NaN, repeated keys, lone surrogates, and
nesting too deep for later recursion. Here each of these raises `AnswerError`, which the caller turns into its own
error. Imports only the standard library, because it is also sent into sandboxes.
"""

import dataclasses
import io
import json
import re
import types
import typing
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar

MIB = 1 << 20
MOST_BYTES = 32 * MIB
MOST_VALUES = 500_000
"""Values in one document: each takes some 60 to 120 bytes of memory, even when written with one character."""
MOST_DEPTH = 64
MOST_NUMBER = 2**63
"""Larger integers are refused: neither SQLite nor an array holds them."""
SHOWN = 200
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_CONTAINERS = (dict, list)  # checking a union of the two is far slower
Characters = Literal["whole", "bytes", "any"]
"""`whole`: every text is Unicode; `bytes`: texts may hold undecodable bytes as surrogates, as `plain_text.decode` makes
them; `any`: not checked here, the caller checks."""
T = TypeVar("T")


class AnswerError(ValueError):
    """An invalid answer; the message is one line."""


def answer(
    kind: type[T],
    data: bytes,
    *,
    most: int = MOST_BYTES,
    values: int = MOST_VALUES,
    containers: int = MOST_VALUES,
    characters: Characters = "bytes",
) -> T:
    """Parse JSON of at most `most` bytes, `values` values and `containers` lists and objects, as a value of type
    `kind`.

    `kind`: str, a number, bool, a dataclass (with exactly its fields), or a list, tuple, dictionary or union of them.
    Raises `AnswerError`."""
    if len(data) > most:
        raise AnswerError(f"it is longer than {most} bytes")
    if data.count(b"[") + data.count(b"{") > containers:
        raise AnswerError(f"it holds more than {containers} lists and objects")
    return typing.cast(T, shaped(kind, json_value(data, values=values, characters=characters)))


def _fault(error: Exception) -> str:
    """What is wrong with a JSON text, in our words rather than the parser's."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}"
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)[:SHOWN]


def json_value(data: bytes, *, values: int = MOST_VALUES, characters: Characters = "bytes") -> Any:
    """Parse a JSON text that is in memory. Raises `AnswerError`."""
    containers = _bounded(data, values)
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_real,
        )
    except RecursionError as error:
        raise AnswerError("is nested too deeply") from error
    except ValueError as error:
        raise AnswerError(f"is not JSON as we write it: {_fault(error)}") from error
    if containers > MOST_DEPTH and _deep(value):
        raise AnswerError(f"is nested more than {MOST_DEPTH} deep")
    if characters != "any" and _HALF.search(data):
        _characters(value, "strict" if characters == "whole" else "surrogateescape")
    return value


def loose_value(data: bytes, *, values: int = MOST_VALUES) -> Any:
    """Parse a JSON text as other programs do: repeated keys, `NaN` and numbers of any size are taken. Raises
    `AnswerError`."""
    _bounded(data, values)
    try:
        return json.loads(data.decode("utf-8-sig", "replace"))
    except RecursionError as error:
        raise AnswerError("is nested too deeply") from error
    except ValueError as error:
        raise AnswerError(f"is not JSON: {_fault(error)}") from error


def _bounded(data: bytes, values: int) -> int:
    """The number of lists and objects. Raises `AnswerError` for a text with too many values."""
    containers = data.count(b"[") + data.count(b"{")
    marks = 1 + data.count(b",") + containers  # as in `count_values`
    if marks > values:
        raise AnswerError(f"may hold {marks} values; at most {values} are taken")
    return containers


def shaped(kind: Any, value: Any) -> Any:
    """Return `value` as type `kind`: see `answer`. Raises `AnswerError`."""
    if kind is Any or (type(kind) is type and type(value) is kind):
        return value
    if kind is float and type(value) is int:
        return float(value)
    origin, inner = _parts(kind)
    if origin in (typing.Union, types.UnionType):
        chosen = [one for one in inner if one is type(value)] or [one for one in inner if one is not type(None)]
        return None if value is None and type(None) in inner else shaped(chosen[0], value)
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return _dataclass(kind, value)
    if origin is list and isinstance(value, list):
        return [shaped(inner[0], item) for item in value]
    if origin is tuple and isinstance(value, list):
        wanted = (inner[0],) * len(value) if inner[1:] == (...,) else inner
        if len(wanted) == len(value):
            return tuple(shaped(one, item) for one, item in zip(wanted, value, strict=True))
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {shaped(inner[0], key): shaped(inner[1], item) for key, item in value.items()}
    raise AnswerError(f"expected {getattr(kind, '__name__', kind)}, found {_short(value)}")


def inflated(data: bytes, most: int, *, gzip: bool = False) -> bytes:
    """Unpack zlib (or gzip) data of at most `most` bytes. Raises `AnswerError`."""
    machine = zlib.decompressobj(zlib.MAX_WBITS | (16 if gzip else 0))
    try:
        content = machine.decompress(data, most)
    except zlib.error as error:
        raise AnswerError(str(error)) from error
    if not machine.eof:
        raise AnswerError(f"it is longer than {most} bytes, or cut short")
    return content


def lines(data: bytes) -> Iterator[bytes]:
    """The lines without their ends, one at a time: a list of them could take ten times the size of `data`."""
    return (line.rstrip(b"\r\n") for line in io.BytesIO(data))


def count_values(data: bytes) -> int:
    """An upper bound on the number of values in a JSON text, without parsing it: each value but the first follows one
    of these characters."""
    return 1 + data.count(b",") + data.count(b"[") + data.count(b"{")


@lru_cache(maxsize=256)
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(kind), typing.get_args(kind)


@lru_cache(maxsize=64)
def _fields(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _dataclass(kind: Any, value: dict[str, Any]) -> Any:
    hints = _fields(kind)
    needed = {one.name for one in dataclasses.fields(kind) if one.default is one.default_factory}  # both are MISSING
    if not needed <= set(value) <= set(hints):
        raise AnswerError(f"its fields are not those of {kind.__name__}")
    return kind(**{name: shaped(hints[name], item) for name, item in value.items()})


def _short(value: Any) -> str:
    return repr(value)[:60] if isinstance(value, str | int | float) else f"a {type(value).__name__}"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {keys.most_common(1)[0][0][:SHOWN]!r} occurs twice")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _integer(text: str) -> int:
    if len(text) > 20 or not -MOST_NUMBER <= (number := int(text)) < MOST_NUMBER:
        raise ValueError(f"a number of {len(text)} digits")
    return number


def _real(text: str) -> float:
    number = float(text)
    if not abs(number) <= MOST_NUMBER:  # sums of larger ones may be infinite
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _deep(value: Any) -> bool:
    """Whether lists and objects are nested more than `MOST_DEPTH` deep; checked level by level, without recursion."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MOST_DEPTH):
        if not level:
            return False
        inner = (item for one in level for item in (one.values() if isinstance(one, dict) else one))
        level = [item for item in inner if isinstance(item, _CONTAINERS)]
    return bool(level)


def _characters(value: Any, errors: str) -> None:
    try:
        for piece in json.JSONEncoder(ensure_ascii=False).iterencode(value):
            piece.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise AnswerError(f"holds a lone surrogate (\\u{ord(error.object[error.start]):x})") from error
