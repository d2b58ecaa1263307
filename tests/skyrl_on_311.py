"""Imported before SkyRL: 0.3.0 declares Python 3.11, and its data types take `TypedDict` from `typing`, which pydantic
refuses before 3.12. Its import is given the one of `typing_extensions`, as pydantic's error asks."""

import sys
import typing
from collections.abc import Iterator
from contextlib import contextmanager

import typing_extensions


@contextmanager
def importable() -> Iterator[None]:
    own = typing.TypedDict
    if sys.version_info < (3, 12):
        typing.TypedDict = typing_extensions.TypedDict  # type: ignore[assignment]
    try:
        yield
    finally:
        typing.TypedDict = own  # type: ignore[assignment]


with importable():
    import skyrl.tinker.types  # noqa: F401
