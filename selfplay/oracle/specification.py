"""What a solver is told: the weakening reversed, or only the part of it that tells of some tests.

The paper shows all of it and names that as its first weakness. With a `public_share` below 1 whole tests are kept
back: a weakening is taken apart into what it changes of each test, and what belongs to no test (imports, helpers) is
shown with any of them. Which tests are hidden is chosen once per bug and recorded in it, so that whatever grows out of
the bug is told the same.
"""

import difflib
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfplay import patches
from selfplay.patches import FilePatch
from selfplay.patches.changes import Change, changes
from selfplay.patches.functions import Function, find_tests

Owner = tuple[str, str]
"""(path, name of the test)."""


@dataclass(frozen=True)
class Piece:
    """A change that is shown or kept back as one, with the tests it is of."""

    change: Change
    owners: frozenset[Owner]


def hidden_tests(
    test_weaken: str, originals: Mapping[str, str], fail_to_pass: Sequence[str], share: float, seed: str
) -> tuple[str, ...]:
    """The F2P ids to keep back so that at least `share` of them, and the change of one test, are shown.

    Tests that one change weakens together are shown or hidden together; F2P tests that are not weakened are in the
    solver's world as they are. `originals`: path -> text of the original's test files. Raises `PatchError`, or
    `ValueError` for a share that is not in (0, 1]."""
    if not 0 < share <= 1:
        raise ValueError(f"a public share is above 0 and at most 1, not {share}")
    if share == 1:
        return ()
    tied = _tied(piece.owners for section in patches.parse(test_weaken) for piece in _pieces(section, originals))
    groups = [frozenset(test for test in fail_to_pass if any(_is(test, owner) for owner in group)) for group in tied]
    groups = [group for group in groups if group]
    random.Random(f"public:{seed}").shuffle(groups)
    hidden = set().union(*groups)
    wanted = math.ceil(share * len(fail_to_pass))
    for number, group in enumerate(groups):
        if number and len(fail_to_pass) - len(hidden) >= wanted:
            break
        hidden -= group
    return tuple(test for test in fail_to_pass if test in hidden)


def specification(test_weaken: str, originals: Mapping[str, str], hidden: Sequence[str] = ()) -> str:
    """The diff that a solver is shown: the weakening reversed, less the changes of the tests in `hidden`; it applies
    to the weakened tree. Raises `PatchError`."""
    if not hidden:
        return patches.reverse(test_weaken)
    return "".join(_shown(section, originals, hidden) for section in patches.parse(test_weaken))


def _shown(section: FilePatch, originals: Mapping[str, str], hidden: Sequence[str]) -> str:
    pieces = list(_pieces(section, originals))
    kept_back = [piece for piece in pieces if any(_is(test, owner) for owner in piece.owners for test in hidden)]
    reverse = patches.reverse(section.text)
    if not kept_back:
        return reverse
    known = _lines(originals[section.path])
    weak, shown, at = list[str](), list[str](), 1
    for piece in pieces:
        change = piece.change
        same = known[at - 1 : change.start - 1]
        weak += [*same, *change.added]
        shown += [*same, *(change.added if piece in kept_back else change.removed)]
        at = change.end
    weak += known[at - 1 :]
    shown += known[at - 1 :]
    body = "".join(_unified(weak, shown))
    return _head(reverse) + body if body else ""


def _head(section: str) -> str:
    return section[: section.index("\n@@ ") + 1]


def _unified(before: list[str], after: list[str]) -> Iterator[str]:
    """The hunks between two texts."""
    lines = difflib.unified_diff(before, after, n=3)
    for line in list(lines)[2:]:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _pieces(section: FilePatch, originals: Mapping[str, str]) -> Iterator[Piece]:
    """The changes of one file, in order. None of a file that is not only text."""
    if section.kind not in ("modified", "deleted") or section.binary or section.path not in originals:
        return
    found = find_tests(section.path, originals[section.path])
    for hunk in section.hunks:
        for change in changes(hunk):
            whole = [_owner(found, line) for line in change.lines]
            if change.added:
                named = frozenset((section.path, name) for name in whole if name)
                yield Piece(change, named)
            else:
                yield from _apart(section.path, change, whole)


def _apart(path: str, change: Change, owners: list[str]) -> Iterator[Piece]:
    """Lines that are only taken away, test by test. An empty line or a comment between two goes with the next one."""
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


def _owner(found: tuple[Function, ...], line: int) -> str:
    return next((test.name for test in found if test.holds(line)), "")


def _tied(owners: Iterable[frozenset[Owner]]) -> list[frozenset[Owner]]:
    """The tests that changes tie together, each in one group, in order of their first change."""
    groups: list[frozenset[Owner]] = []
    for found in owners:
        touched = [group for group in groups if group & found]
        if found and touched:
            groups[groups.index(touched[0])] = found.union(*touched)
            groups = [group for group in groups if group not in touched[1:]]
        elif found:
            groups.append(found)
    return groups


def _is(test: str, owner: Owner) -> bool:
    """Is this id one of this test's? By its file, where the id tells one, and by the words of its name."""
    path, name = owner
    if "::" in test and not test.startswith(f"{path}::"):
        return False
    plain = test.split("[")[0]
    words = re.findall(r"\w+", plain)
    return name in plain if not name.isidentifier() and "." not in name else set(name.split(".")) <= set(words)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
