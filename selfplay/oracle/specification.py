"""What a solver is shown: the reversed weakening, or only the part of it that concerns some tests.

The paper shows all of it and names that as its first weakness. With a `public_share` below 1 whole tests are kept back:
the weakening is split into its changes per test, and changes that belong to no test (imports, helpers) are shown with
any of them. The hidden tests are chosen once per bug and recorded in it, so that every bug derived from it gets the
same specification.
"""

import bisect
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfplay import patches
from selfplay.patches import FilePatch
from selfplay.patches.changes import Change, changes
from selfplay.patches.functions import Function, find_tests

CONTEXT = 3
"""Unchanged lines shown around a change."""
MOST_COMPARED = 20
"""Parts of a weakening that `least_failing` compares."""
Owner = tuple[str, str]
"""(path, name of the test)."""


@dataclass(frozen=True)
class Piece:
    """A change that is shown or kept back as a whole, and the tests it belongs to."""

    change: Change
    owners: frozenset[Owner]


def hidden_tests(
    test_weaken: str, originals: Mapping[str, str], fail_to_pass: Sequence[str], share: float, seed: str
) -> tuple[str, ...]:
    """The F2P ids to keep back so that at least `share` of them, and the change of at least one test, are shown.

    Tests that one change weakens together are shown or hidden together; F2P tests that are not weakened stand in the
    solver's world unchanged. `originals`: path -> text of the original's test files. Raises `PatchError`, or
    `ValueError` for a share that is not in (0, 1]."""
    if not 0 < share <= 1:
        raise ValueError(f"a public share is above 0 and at most 1, not {share}")
    if share == 1:
        return ()
    groups = _groups(test_weaken, originals, fail_to_pass)
    random.Random(f"public:{seed}").shuffle(groups)
    hidden = set().union(*groups)
    wanted = math.ceil(share * len(fail_to_pass))
    for number, group in enumerate(groups):
        if number and len(fail_to_pass) - len(hidden) >= wanted:
            break
        hidden -= group
    return tuple(test for test in fail_to_pass if test in hidden)


def least_failing(
    test_weaken: str, originals: Mapping[str, str], fail_to_pass: Sequence[str], hidden: Sequence[str] = ()
) -> tuple[str, frozenset[str]]:
    """The shortest diff that restores an F2P test and is part of what a solver is shown, and the tests it restores. Of
    very many tests the first ones are looked at. Empty where no F2P test was weakened. Raises `PatchError`."""
    shown = [group for group in _groups(test_weaken, originals, fail_to_pass) if group.isdisjoint(hidden)]
    parts = [("".join(_part(test_weaken, originals, group)), group) for group in shown[:MOST_COMPARED]]
    return min(parts, key=lambda part: len(part[0]), default=("", frozenset()))


def _part(test_weaken: str, originals: Mapping[str, str], tests: Iterable[str]) -> Iterator[str]:
    """The sections of a diff that restores `tests`, and what belongs to no test; no change of empty lines alone."""
    known = _Tests(list(tests))

    def kept_back(piece: Piece) -> bool:
        if piece.owners:
            return not any(known.of(owner) for owner in piece.owners)
        return not any(line.strip() for line in (*piece.change.removed, *piece.change.added))

    return (_shown(section, originals, kept_back) for section in patches.parse(test_weaken))


def _groups(test_weaken: str, originals: Mapping[str, str], tests: Sequence[str]) -> list[frozenset[str]]:
    """The ids among `tests` that are weakened; together those that one change weakens."""
    known = _Tests(tests)
    tied = _tied(piece.owners for section in patches.parse(test_weaken) for piece in _pieces(section, originals))
    groups = [frozenset(test for owner in group for test in known.of(owner)) for group in tied]
    return [group for group in groups if group]


def specification(test_weaken: str | None, originals: Mapping[str, str], hidden: Sequence[str] = ()) -> str:
    """The diff that a solver is shown: the reversed weakening without the changes of the tests in `hidden`. It applies
    to the weakened tree, and is empty where nothing was weakened. Raises `PatchError`."""
    if test_weaken is None:
        return ""
    if not hidden:
        return patches.reverse(test_weaken)
    known = _Tests(hidden)

    def kept_back(piece: Piece) -> bool:
        return any(known.of(owner) for owner in piece.owners)

    return "".join(_shown(section, originals, kept_back) for section in patches.parse(test_weaken))


def _shown(section: FilePatch, originals: Mapping[str, str], kept_back: Callable[[Piece], bool]) -> str:
    pieces = list(_pieces(section, originals))
    back = [kept_back(piece) for piece in pieces]
    reverse = patches.reverse(section.text)
    if not any(back):
        return reverse
    body = _unified(_lines(originals[section.path]), pieces, back)
    return _head(reverse) + body if body else ""


def _head(section: str) -> str:
    return section[: section.index("\n@@ ") + 1]


def _unified(known: list[str], pieces: Sequence[Piece], kept_back: Sequence[bool]) -> str:
    """The hunks that turn the weakened text into the shown text. `known`: the lines of the original."""
    weak, steps, at, moved = list[str](), list[tuple[int, Change]](), 1, 0
    for piece, hidden in zip(pieces, kept_back, strict=True):
        weak += known[at - 1 : piece.change.start - 1]
        if not hidden and piece.change.added != piece.change.removed:
            steps.append((len(weak), piece.change))
        weak += piece.change.added
        at = piece.change.end
    weak += known[at - 1 :]
    out = list[str]()
    for hunk in _together(steps):
        text, moved = _hunk(weak, hunk, moved)
        out.append(text)
    return "".join(out)


def _together(steps: Sequence[tuple[int, Change]]) -> Iterator[list[tuple[int, Change]]]:
    """Groups of changes so close that their context overlaps."""
    run = list[tuple[int, Change]]()
    for start, change in steps:
        if run and start - run[-1][0] - len(run[-1][1].added) > 2 * CONTEXT:
            yield run
            run = []
        run.append((start, change))
    if run:
        yield run


def _hunk(weak: Sequence[str], steps: Sequence[tuple[int, Change]], moved: int) -> tuple[str, int]:
    """One hunk that undoes these changes of the weakened text, and how far it shifts the lines after it. `moved`: the
    shift so far."""
    last, change = steps[-1]
    first = max(0, steps[0][0] - CONTEXT)
    end = min(len(weak), last + len(change.added) + CONTEXT)
    body, at = list[str](), first
    for start, change in steps:
        body += [f" {line}" for line in weak[at:start]]
        body += [f"-{line}" for line in change.added] + [f"+{line}" for line in change.removed]
        at = start + len(change.added)
    body += [f" {line}" for line in weak[at:end]]
    grown = sum(len(change.removed) - len(change.added) for _, change in steps)
    old, new = _range(first, end - first), _range(first + moved, end - first + grown)
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body)
    return f"@@ -{old} +{new} @@\n{text}", moved + grown


def _range(start: int, count: int) -> str:
    """A range in a hunk header: an empty range names the line before it, a range of one line has no count."""
    return f"{start + 1}" if count == 1 else f"{start + (count > 0)},{count}"


def _pieces(section: FilePatch, originals: Mapping[str, str]) -> Iterator[Piece]:
    """The changes of one file, in order; none for a file that is not pure text."""
    if section.kind not in ("modified", "deleted") or section.binary or section.path not in originals:
        return
    found = _Places(find_tests(section.path, originals[section.path]))
    for hunk in section.hunks:
        for change in changes(hunk):
            whole = [found.owner(line) for line in change.lines]
            if change.added:
                named = frozenset((section.path, name) for name in whole if name)
                yield Piece(change, named)
            else:
                yield from _apart(section.path, change, whole)


def _apart(path: str, change: Change, owners: list[str]) -> Iterator[Piece]:
    """Lines that are only removed, split by test. An empty line or a comment between two tests goes with the next
    one."""
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


class _Places:
    """Which test a line belongs to."""

    def __init__(self, tests: Sequence[Function]) -> None:
        self._tests = sorted(tests, key=lambda test: test.first)
        self._firsts = [test.first for test in self._tests]

    def owner(self, line: int) -> str:
        """The name of the test that holds the line; empty when none does."""
        at = bisect.bisect_right(self._firsts, line) - 1
        return self._tests[at].name if at >= 0 and self._tests[at].holds(line) else ""


class _Tests:
    """Ids of tests, indexed by the test they belong to."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._words = {test: frozenset(re.findall(r"\w+", test.split("[")[0])) for test in ids}
        self._having: dict[str, list[str]] = {}
        for test, words in self._words.items():
            for word in words:
                self._having.setdefault(word, []).append(test)

    def of(self, owner: Owner) -> list[str]:
        """The ids of this test: by its file, where the id contains one, and by the words of its name."""
        path, name = owner
        if not name.isidentifier() and "." not in name:
            return [test for test in self._words if _may_be_in(test, path) and name in test.split("[")[0]]
        words = set(name.split("."))
        rarest = min((self._having.get(word, []) for word in words), key=len)
        return [test for test in rarest if _may_be_in(test, path) and words <= self._words[test]]


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


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
