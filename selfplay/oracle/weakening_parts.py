"""Splits a weakening into pieces: changes of one or several tests that are shown or hidden as a whole."""

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfplay import patches
from selfplay.patches import FilePatch, PatchError
from selfplay.patches.changes import Change, changes
from selfplay.patches.functions import PatchedFunction, find_tests

MOST_LOOKED = 20_000_000
"""Ids that are looked at for all the tests of a weakening: two seconds."""
_WORD = re.compile(r"\w+")
Owner = tuple[str, str]
"""(path, name of the test)."""


@dataclass(frozen=True)
class Piece:
    """A change that is shown or hidden as a whole, and the tests it belongs to."""

    change: Change
    owners: frozenset[Owner]


def weakened_together(test_weaken: str, originals: Mapping[str, str], tests: Sequence[str]) -> list[frozenset[str]]:
    """The weakened ids among `tests`, in groups: tests weakened by one change are in one group."""
    known = Tests(tests)
    tied = _tied(piece.owners for section in patches.parse(test_weaken) for piece in pieces(section, originals))
    groups = [frozenset(test for owner in group for test in known.of(owner)) for group in tied]
    return [group for group in groups if group]


def pieces(section: FilePatch, originals: Mapping[str, str]) -> Iterator[Piece]:
    """The pieces of one file, in order; none if the file is not pure text."""
    if section.kind not in ("modified", "deleted") or section.binary or section.path not in originals:
        return
    found = _TestLines(find_tests(section.path, originals[section.path]))
    for hunk in section.hunks:
        for change in changes(hunk):
            whole = [found.owner(line) for line in change.lines]
            if change.added:
                named = frozenset((section.path, name) for name in whole if name)
                yield Piece(change, named)
            else:
                yield from _apart(section.path, change, whole)


def _apart(path: str, change: Change, owners: list[str]) -> Iterator[Piece]:
    """Split removed lines by test. An empty line or a comment between two tests goes with the second one."""
    following = ""
    for index in reversed(range(len(owners))):
        text = change.removed[index].strip()
        if owners[index]:
            following = owners[index]
        elif not text or text.startswith(("#", "//")):
            owners[index] = following
        else:
            following = ""
    start = 0
    for index in range(1, len(owners) + 1):
        if index == len(owners) or owners[index] != owners[start]:
            piece = Change(change.start + start, change.removed[start:index], ())
            yield Piece(piece, frozenset({(path, owners[start])} if owners[start] else ()))
            start = index


class _TestLines:
    """Maps lines to tests."""

    def __init__(self, tests: Sequence[PatchedFunction]) -> None:
        self._tests = sorted(tests, key=lambda test: test.first)
        self._firsts = [test.first for test in self._tests]

    def owner(self, line: int) -> str:
        """The name of the test that contains the line; empty if none does."""
        at = bisect.bisect_right(self._firsts, line) - 1
        return self._tests[at].name if at >= 0 and self._tests[at].holds(line) else ""


class Tests:
    """Ids of tests, indexed by the test they belong to."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._left = MOST_LOOKED
        self._words = {test: frozenset(_WORD.findall(test.split("[")[0])) for test in ids}
        self._having: dict[str, list[str]] = {}
        for test, words in self._words.items():
            for word in words:
                self._having.setdefault(word, []).append(test)

    def of(self, owner: Owner) -> list[str]:
        """The ids of this test: by its file, if ids contain one, and by the words of its name. Raises `PatchError` for
        very many tests whose names are made of the same words."""
        path, name = owner
        words = frozenset(_WORD.findall(name))
        rarest = min((self._having.get(word, []) for word in words), key=len, default=[*self._words])
        self._left -= len(rarest)
        if self._left < 0:
            raise PatchError("the weakening changes too many tests that are named alike")
        told = [test for test in rarest if _may_be_in(test, path) and words <= self._words[test]]
        plain = all(part.isidentifier() for part in name.split("."))
        return told if plain else [test for test in told if name in test.split("[")[0]]


def _may_be_in(test: str, path: str) -> bool:
    return "::" not in test or test.startswith(f"{path}::")


def _tied(owners: Iterable[frozenset[Owner]]) -> list[frozenset[Owner]]:
    """Groups of tests that changes connect, in the order of their first change."""
    leader: dict[Owner, Owner] = {}
    order: dict[Owner, int] = {}

    def led(owner: Owner) -> Owner:
        while leader[owner] != owner:
            leader[owner] = leader[leader[owner]]
            owner = leader[owner]
        return owner

    for found in owners:
        for owner in found:
            leader.setdefault(owner, owner)
            order.setdefault(owner, len(order))
        leaders = {led(owner) for owner in found}
        first = min(leaders, key=order.__getitem__, default=None)
        for one in leaders:
            leader[one] = first or one
    groups: dict[Owner, set[Owner]] = {}
    for owner in leader:
        groups.setdefault(led(owner), set()).add(owner)
    return [frozenset(group) for group in groups.values()]
