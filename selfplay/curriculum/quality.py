"""The quality of a curriculum in figures: how hard, large, similar and widely spread its bugs are, and whether they can
be trusted. Pure functions of diffs and counts.

Near-duplicates are pairs of bugs in one file whose changed lines overlap by a Jaccard index of `NEAR` or more (ours;
the paper only reports that duplicates happen). Entropy is in bits, over the files and functions the bugs touch; its
maximum is the logarithm of their number, reached when all are touched equally often.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import Any

from selfplay import patches
from selfplay.patches.changes import changes
from selfplay.patches.functions import PatchedFunction, functions_at
from selfplay.patches.functions import functions as defined
from selfplay.plain_text import shown

NEAR = 0.8
ONE_LINE = 2
"""Changed lines of a bug that replaces one line: one removed, one added."""
Lines = frozenset[tuple[str, str]]
"""The changed lines of a bug: (path, marked line)."""


def spread(values: Sequence[float]) -> dict[str, float] | None:
    """Minimum, median, mean and maximum."""
    if not values:
        return None
    return {
        "least": min(values),
        "median": statistics.median(values),
        "mean": round(statistics.fmean(values), 2),
        "most": max(values),
    }


def solve_rates(counts: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """The figures of one policy from bug -> (resolved, attempts). `histogram`: number of solves -> bugs with that
    many."""
    resolved = sum(solved for solved, _ in counts.values())
    attempts = sum(count for _, count in counts.values())
    between = sum(0 < solved < count for solved, count in counts.values())
    return {
        "bugs": len(counts),
        "attempts": attempts,
        "resolved": resolved,
        "mean_solve_rate": round(statistics.fmean(s / n for s, n in counts.values()), 4) if counts else None,
        "solved_at_least_once": sum(solved > 0 for solved, _ in counts.values()),
        "strictly_between": between,
        "histogram": dict(sorted(Counter(str(solved) for solved, _ in counts.values()).items(), key=_as_number)),
    }


def _as_number(item: tuple[str, int]) -> int:
    return int(item[0])


def shape(
    diffs: Mapping[str, str], original: Callable[[str], str | None], homes: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Size, similarity and spread of first-order bugs, from bug -> `bug_inject.diff`; one that is no diff, as a shared
    run may hold, is left out. `original`: the text of a file of the original, or None. `homes`: bug -> the prefix of
    its paths, which keeps equal names of two repositories apart."""
    sections = {}
    for bug, diff in diffs.items():
        with suppress(patches.PatchError):
            sections[bug] = patches.parse(diff)
    sizes = [sum(section.added + section.removed for section in found) for found in sections.values()]
    spans = cache(lambda path: defined(path, original(path) or ""))  # many bugs share one file
    files = [{homes.get(bug, "") + shown(section.path) for section in found} for bug, found in sections.items()]
    functions = [touched_functions(found, spans, homes.get(bug, "")) for bug, found in sections.items()]
    near = near_duplicates({bug: changed(found) for bug, found in sections.items()})
    return {
        "changed_lines": spread(sizes),
        "files_per_bug": spread([len(names) for names in files]),
        "one_line_share": share(sum(size <= ONE_LINE for size in sizes), len(sizes)),
        "near_duplicate_rate": share(len(near), len(sizes)),
        "entropy_files": entropy(name for names in files for name in names),
        "entropy_functions": entropy(name for names in functions for name in names),
    }


def touched_functions(
    sections: Iterable[patches.FilePatch], functions: Callable[[str], tuple[PatchedFunction, ...]], home: str = ""
) -> frozenset[str]:
    """`path::name` of the functions whose lines are changed; each line counts for the innermost function around it.
    Where the file's syntax is not known, git's guess in the hunk header is used. `functions`: those of a file; `home`
    stands before every path."""
    found = set()
    for section in sections:
        if spans := functions(home + section.path):  # asked once a file: it looks at all of its functions
            lines = {line for hunk in section.hunks for change in changes(hunk) for line in change.lines}
            names = functions_at(spans, lines) if section.hunks else set()
        else:
            names = {hunk.section.strip() for hunk in section.hunks}
        found |= {f"{home}{shown(section.path)}::{shown(name)}" for name in names}
    return frozenset(found)


def changed(sections: Iterable[patches.FilePatch]) -> Lines:
    """The changed lines that have content."""
    return frozenset(
        (section.path, line.strip()) for section in sections for hunk in section.hunks for line in hunk.lines
        if line[:1] in "+-" and line[1:].strip()
    )  # fmt: skip


def near_duplicates(lines: Mapping[str, Lines]) -> frozenset[str]:
    """The bugs that nearly repeat an earlier one.

    Two sets that overlap so much share one of their rarest lines. So an index of each set's rarest lines yields the few
    earlier sets worth comparing: the time grows with the number of bugs, not of pairs.
    """
    often = Counter(line for own in lines.values() for line in own)
    known: set[Lines] = set()
    index: defaultdict[tuple[str, str], list[Lines]] = defaultdict(list)
    found = set()
    for bug, own in lines.items():
        if own in known:
            found.add(bug)
            continue
        rarest = _rarest(own, often)
        if any(_alike(own, other) for line in rarest for other in index[line]):
            found.add(bug)
        known.update([own] if own else ())
        for line in rarest:
            index[line].append(own)
    return frozenset(found)


def _rarest(lines: Lines, often: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
    """So many of the rarest lines that any set at least `NEAR` to this one shares one of them: at least that share of
    the lines is in both sets."""
    shared = math.ceil(NEAR * len(lines) - 1e-9)
    return sorted(lines, key=lambda line: (often[line], line))[: len(lines) - shared + 1] if lines else []


def _alike(one: Lines, other: Lines) -> bool:
    smaller, larger = sorted((len(one), len(other)))
    if smaller < NEAR * larger - 1e-9:
        return False
    both = len(one & other)
    return both / (len(one) + len(other) - both) >= NEAR


def entropy(names: Iterable[str]) -> dict[str, float]:
    """Shannon entropy in bits of how often each name occurs, and its maximum for as many distinct names."""
    counts = Counter(names)
    total = sum(counts.values())
    bits = -sum(n / total * math.log2(n / total) for n in counts.values()) if total else 0.0
    return {
        "names": len(counts),
        "bits": round(abs(bits), 3),
        "most": round(math.log2(len(counts)), 3) if counts else 0,
    }


def share(part: int, whole: int) -> float | None:
    """`part` of `whole`; None when `whole` is zero."""
    return round(part / whole, 4) if whole else None
