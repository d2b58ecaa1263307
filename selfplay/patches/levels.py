"""Decides whether the names of a diff begin with a prefix (`a/`, `i/`, a folder of `diff -r`) or are whole.

One decision for all sections: from the names if they have only one reading, else from the tree that the diff is for;
refused if both readings fit the tree, or neither does.
"""

from collections.abc import Callable, Sequence

from selfplay.patches.model import PatchError
from selfplay.patches.sides import Sides, stripped, strips

There = Callable[[str], bool]
_HINT = "Make it with `git diff --src-prefix=a/ --dst-prefix=b/`."
_LETTERS = (("a", "b"), ("b", "a"), ("i", "w"), ("w", "i"), ("c", "w"), ("w", "c"), ("c", "i"), ("i", "c"), ("o", "w"),
            ("w", "o"), ("o", "i"), ("i", "o"), ("1", "2"), ("2", "1"), ("old", "new"), ("orig", "new"))  # fmt: skip


def common_level(sections: Sequence[Sides], there: There | None) -> int:
    """0 or 1: the number of folders that are prefixes. Raises `PatchError` if it is ambiguous."""
    found = [strips(sides.old, sides.new, sides.moved) for sides in sections]
    for sides, levels in zip(sections, found, strict=True):
        if not levels:
            raise PatchError(f"a section names two files, {sides.old!r:.200} and {sides.new!r:.200}", _HINT)
    common = frozenset({0, 1}).intersection(*found)
    decided = [sides for sides, levels in zip(sections, found, strict=True) if len(levels) == 1]
    if not common or (decided and common == {1} and not _alike(sections, decided)):
        raise PatchError("some names of the diff have a prefix and some have none", _HINT)
    return min(common) if len(common) == 1 else _undecided(sections, there)


def _alike(sections: Sequence[Sides], decided: Sequence[Sides]) -> bool:
    """Whether all names begin with a prefix that a clear name has, or that programs write."""
    known = {_folder(name) for sides in decided for name in sides.both}
    return all(_lettered(sides) or known.issuperset(map(_folder, sides.both)) for sides in sections)


def _undecided(sections: Sequence[Sides], there: There | None) -> int:
    """The level of names that can be read with or without a prefix."""
    if there is None and all(_lettered(sides) for sides in sections):
        return 1
    levels = [level for level in (0, 1) if there and all(_fits(sides, level, there) for sides in sections)]
    if len(levels) == 1:
        return levels[0]
    why = "" if there is None else f": {'both readings fit' if levels else 'neither reading fits'} the tree"
    raise PatchError(f"{sections[0].both[1][:200]!r} may have a prefix or not{why}", _HINT)


def _fits(sides: Sides, level: int, there: There) -> bool:
    """Whether a level fits the tree: a changed file must exist; a new one must be in an existing folder, or have a
    prefix that does not exist."""
    old, new = (stripped(name, level) for name in sides.both)
    if old is None or new is None:
        return False
    if not sides.no_old and (there(old) or not sides.grows):
        return there(old)
    folder = _folder(sides.both[1])
    if level:
        return _lettered(sides) and not there(folder)
    return "/" not in new or there(folder) or sides.old == sides.new  # named twice: no prefixes


def _lettered(sides: Sides) -> bool:
    """Whether the names begin with prefixes that programs write."""
    first, second = (None if name is None else _folder(name) for name in (sides.old, sides.new))
    return any(first in (None, one) and second in (None, other) for one, other in _LETTERS)


def _folder(name: str) -> str:
    return name.partition("/")[0]
