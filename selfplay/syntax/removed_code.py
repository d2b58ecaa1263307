"""What functions lost, from their shapes before and after a change, in any language."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LARGE, LEFT = 4, 1 / 3
"""A function with this many statements that keeps less than this share did not just lose a case."""


@dataclass(frozen=True)
class Shape:
    """A function. `stub`: it does nothing; `ends`: it always returns a value or raises an error; `empty`: its blocks
    that do nothing; `size`: its statements, including those in blocks."""

    stub: bool
    ends: bool
    empty: int
    size: int


def losses(before: Mapping[str, Shape], after: Mapping[str, Shape]) -> list[str]:
    """What the functions of `after` lost, in words, by dotted name."""
    return [said for name, shape in sorted(after.items()) for said in _lost(name, before.get(name), shape)]


def _lost(name: str, was: Shape | None, now: Shape) -> Iterator[str]:
    if now.stub and not (was and was.stub):
        yield f"{name}() does nothing"
    if now.empty > (was.empty if was else 0):
        yield f"{name}() has an empty block"
    if was and was.ends and not now.ends:
        yield f"{name}() may end without its return"
    if was and not now.stub and was.size >= LARGE and now.size < LEFT * was.size:
        yield f"{name}() is gutted"
