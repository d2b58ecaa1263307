"""The specification for the solver: the reversed weakening, or only the part of it that concerns some tests.

The paper shows all of it, and names this as its first weakness. With a `public_share` below 1 whole tests are hidden:
the weakening is split into its changes per test, and changes that belong to no test (imports, helpers) are always
shown. The hidden tests are chosen once per bug and recorded in it, so that every bug derived from it gets the same
specification.
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from selfplay import patches
from selfplay.oracle.weakening_parts import Piece, Tests, pieces, weakened_together
from selfplay.patches import FilePatch
from selfplay.patches.changes import Change
from selfplay.patches.lines import split_lines

CONTEXT = 3
"""Unchanged lines shown around a change."""
MOST_COMPARED = 20
"""The most parts of a weakening that `least_failing` compares."""


def hidden_tests(
    test_weaken: str, originals: Mapping[str, str], fail_to_pass: Sequence[str], share: float, seed: str
) -> tuple[str, ...]:
    """The F2P ids to hide so that at least `share` of them, and the change of at least one test, are shown.

    Tests that one change weakens together are shown or hidden together; F2P tests that are not weakened are in the
    solver's world unchanged. `originals`: path -> text of the original's test files. Raises `PatchError`, or
    `ValueError` for a share that is not in (0, 1]."""
    if not 0 < share <= 1:
        raise ValueError(f"a public share is above 0 and at most 1, not {share}")
    if share == 1:
        return ()
    groups = weakened_together(test_weaken, originals, fail_to_pass)
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
    """The shortest diff that restores an F2P test and is part of what a solver is shown, and the tests it restores.
    Empty if no change belongs to an F2P test. Of very many tests only the first are considered. Raises `PatchError`."""
    shown = [group for group in weakened_together(test_weaken, originals, fail_to_pass) if group.isdisjoint(hidden)]
    parts = [("".join(_part(test_weaken, originals, group)), group) for group in shown[:MOST_COMPARED]]
    return min(parts, key=lambda part: len(part[0]), default=("", frozenset()))


def _part(test_weaken: str, originals: Mapping[str, str], tests: Iterable[str]) -> Iterator[str]:
    """The sections of a diff that restores `tests` and changes that belong to no test, without changes of empty lines
    only."""
    known = Tests(list(tests))

    def kept_back(piece: Piece) -> bool:
        if piece.owners:
            return not any(known.of(owner) for owner in piece.owners)
        return not any(line.strip() for line in (*piece.change.removed, *piece.change.added))

    return (_shown(section, originals, kept_back) for section in patches.parse(test_weaken))


def specification(test_weaken: str | None, originals: Mapping[str, str], hidden: Sequence[str] = ()) -> str:
    """The diff that a solver is shown: the reversed weakening without the changes of the tests in `hidden`. It applies
    to the weakened tree, and is empty if nothing was weakened. Raises `PatchError`."""
    if test_weaken is None:
        return ""
    if not hidden:
        return patches.reverse(test_weaken)
    known = Tests(hidden)

    def kept_back(piece: Piece) -> bool:
        return any(known.of(owner) for owner in piece.owners)

    return "".join(_shown(section, originals, kept_back) for section in patches.parse(test_weaken))


def _shown(section: FilePatch, originals: Mapping[str, str], kept_back: Callable[[Piece], bool]) -> str:
    found = list(pieces(section, originals))
    back = [kept_back(piece) for piece in found]
    reverse = patches.reverse(section.text)
    if not any(back):
        return reverse
    body = _unified(split_lines(originals[section.path]), found, back)
    return _head(reverse) + body if body else ""


def _head(section: str) -> str:
    """What stands before the hunks, without git's ids of the whole files: the solver could try texts against them."""
    lines = section[: section.index("\n@@ ")].split("\n")
    return "".join(f"{line}\n" for line in lines if not line.startswith("index "))


def _unified(known: list[str], found: Sequence[Piece], kept_back: Sequence[bool]) -> str:
    """The hunks that turn the weakened text into the shown text. `known`: the lines of the original."""
    weak, steps, at, moved = list[str](), list[tuple[int, Change]](), 1, 0
    for piece, hidden in zip(found, kept_back, strict=True):
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
    """One hunk that undoes these changes of the weakened text, and how far it shifts later lines. `moved`: the shift so
    far."""
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
