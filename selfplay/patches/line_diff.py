"""Which lines of two texts are the same, in bounded time: texts can be made for which `difflib` takes hours."""

import difflib
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

MOST_COMPARED = 5_000_000
"""The most pairs of equal lines that are looked at, over all passes; about a second."""
Opcode = tuple[str, int, int, int, int]


class _TooMuch(Exception):
    """The texts have too many lines in common, in too many places."""


class _Counting(difflib.SequenceMatcher[str]):
    """Stops before a pass that goes beyond the bound. A pass looks at each pair of equal lines in its two ranges, of
    which there are at most as many as in the first with the whole other text."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        often = Counter(new)
        self.pairs = [0, *accumulate(1 + often[line] for line in old)]
        self.left = MOST_COMPARED

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        self.left -= self.pairs[len(self.pairs) - 1 if ahi is None else ahi] - self.pairs[alo]
        if self.left < 0:
            raise _TooMuch
        return super().find_longest_match(alo, ahi, blo, bhi)


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """How `old` becomes `new`, as `difflib` says it. What lies between their equal beginning and end is one change
    where it would take too long."""
    same = in_common(old, new)
    ending = min(in_common(old[::-1], new[::-1]), min(len(old), len(new)) - same)
    middle = _opcodes(old[same : len(old) - ending], new[same : len(new) - ending])
    found: list[Opcode] = [("equal", 0, same, 0, same)] if same else []
    found += [(tag, i + same, j + same, k + same, m + same) for tag, i, j, k, m in middle]
    if ending:
        found.append(("equal", len(old) - ending, len(old), len(new) - ending, len(new)))
    return found


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    try:
        return list(_Counting(old, new).get_opcodes())
    except _TooMuch:
        return [("replace", 0, len(old), 0, len(new))]


def in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of lines of two texts, or of letters of two words, that are the same at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


class _Known(difflib.SequenceMatcher[str]):
    def __init__(self, known: list[Opcode]) -> None:
        super().__init__()
        self.known = known

    def get_opcodes(self) -> list[Opcode]:  # type: ignore[override]
        return self.known


def hunks(old: Sequence[str], new: Sequence[str], context: int = 3) -> list[str]:
    """The lines of a unified diff without its names. The texts' lines have their ends."""
    lines = []
    for group in _Known(opcodes(old, new)).get_grouped_opcodes(context):
        (_, i, _, k, _), (_, _, j, _, m) = group[0], group[-1]
        lines.append(f"@@ -{_range(i, j)} +{_range(k, m)} @@\n")
        for tag, first, last, start, end in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[first:last]]
            else:
                lines += [*(f"-{line}" for line in old[first:last]), *(f"+{line}" for line in new[start:end])]
    return lines


def _range(start: int, stop: int) -> str:
    size = stop - start
    return str(start + 1) if size == 1 else f"{start + (size > 0)},{size}"
