"""Needles: what shows that a place holds the answer. These are lines that the bug removed, and shingles of what it
changed.

A removed line that also occurs elsewhere in the original's code reveals nothing in code, unless all removed lines occur
there together; in a document it does. A shingle is a run of tokens of a changed file that occurs neither in the broken
tree nor in the original's other code. Shingles span changed places, so even a bug whose lines are all common (a `<`
that became `<=`) has some. Shingles inside the lines that a diff shows come first, so that a diff holds all of them.
Shingles get longer until there are enough.
"""

import base64
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from selfplay import patches
from selfplay.oracle.inside.shingles import seen, shingles, tokens, view_of
from selfplay.oracle.leak_audit.own_code import MOST_FILES, RUN, SHORTEST, code_of, others_of, telling
from selfplay.oracle.originals import original_texts
from selfplay.oracle.task import Task
from selfplay.patches.changes import changes
from selfplay.plain_text import decode, encode

MOST_LINES, MOST_SHINGLES = 400, 600
"""Limits on how much of a bug is compared with every file of the original. A normal bug stays below; one with thousands
of parts would cost thousands of times as much."""
LONGEST = 200
"""Longer lines (characters) are data, and not compared with removed lines."""
LENGTHS = (12, 24, 48, 96, 192)
"""Lengths of shingles, in tokens: twelve equal tokens are not a coincidence; repetitive code needs longer ones."""
MOST_WORDS = 4
"""The most anchor words of a shingle: its longest words."""
DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b")
ENOUGH, LEAST_TOKENS = 6, 24
"""Enough shingles of a bug, and the tokens they must have in all: a single shingle of twelve tokens is too little."""


@dataclass(frozen=True)
class Needles:
    """`lines`: removed lines; `common`: indices of those that also occur elsewhere in the original's code; `partly`:
    indices of those that are part of a line that remains or occurs elsewhere. `context`: the lines around them.
    `python`: (module, before, after) of changed Python files. `shingles`: (view, number of tokens) -> shingles;
    `anchors`: word -> the numbers of the shingles that hold it, counted over all shingles in order. `digests`: of the
    changed files' originals, against which a solver could try any text."""

    lines: tuple[str, ...]
    common: tuple[int, ...]
    partly: tuple[int, ...]
    context: tuple[str, ...]
    python: tuple[tuple[str, str, str], ...]
    shingles: Mapping[tuple[str, int], tuple[str, ...]]
    anchors: tuple[tuple[str, tuple[int, ...]], ...]
    digests: tuple[str, ...] = ()

    @property
    def most(self) -> int:
        """The largest number of shingles of one kind."""
        return max(map(len, self.shingles.values()), default=0)

    @property
    def telling(self) -> bool:
        """Whether a copy differs from what the broken tree holds anyway."""
        return len(self.common) < len(self.lines) or self.most > 0

    def to_json(self) -> dict[str, Any]:
        own = {"lines": self.lines, "common": self.common, "partly": self.partly, "context": self.context}
        cut = {"sets": [[*kind, texts] for kind, texts in self.shingles.items()], "anchors": self.anchors}
        return {**own, "python": self.python, "shingles": cut, "digests": self.digests}


def needles(task: Task) -> Needles:
    """Compute the needles of a task."""
    sections = patches.parse(task.artifact.bug_inject)
    given = [section for diff in task.extra for section in patches.parse(diff)]  # a failed attempt is part of the task
    originals = code_of(task)
    changed = {section.old_path for section in sections if section.old_path}
    before = {**original_texts(task.world, sorted(changed)), **{p: originals[p] for p in changed if p in originals}}
    runs = [telling(change.removed) for section in sections for hunk in section.hunks for change in changes(hunk)]
    others = others_of(originals, changed, [run for run in runs if len(run) >= RUN])
    after = _after(before, [*sections, *given])
    lines, common, partly = _lines(sections, given, before, list(others.values()))
    around = {line[1:].strip() for s in sections for hunk in s.hunks for line in hunk.lines if line.startswith(" ")}
    suffixes = {PurePosixPath(path).suffix for path in changed}
    code = [decode(seen(view_of(path), encode(text))) for path, text in others.items() if _is_code(path, suffixes)]
    hunks = {section.old_path or "": [_old_side(hunk) for hunk in section.hunks] for section in sections}
    lost = _shingles(before, after, hunks, code)
    return Needles(
        lines=tuple(lines),
        common=tuple(common),
        partly=tuple(partly),
        context=tuple(sorted(line for line in around if len(line) >= SHORTEST)),
        python=tuple(
            (_stem(section.old_path), before[section.old_path], left(before[section.old_path], section))
            for section in sections
            if section.old_path and section.old_path.endswith(".py") and section.old_path in before
        ),
        shingles=lost,
        anchors=_anchors([text.split(" ") for texts in lost.values() for text in texts], code),
        digests=tuple(one for path in sorted(before)[:MOST_FILES] for one in _digests(encode(before[path]))),
    )


def _digests(content: bytes) -> Iterator[str]:
    """The digests of a file as package managers, git and checksum files write them: in hex, or in base64."""
    of_git = b"blob %d\0" % len(content) + content
    made = [hashlib.new(name, content, usedforsecurity=False) for name in DIGESTS]
    for one in (*made, hashlib.sha1(of_git, usedforsecurity=False)):
        yield one.hexdigest()
        plain = base64.b64encode(one.digest()).decode().rstrip("=")
        yield from dict.fromkeys((plain, plain.replace("+", "-").replace("/", "_")))


def _lines(
    sections: Sequence[patches.FilePatch],
    given: Sequence[patches.FilePatch],
    before: Mapping[str, str],
    others: Sequence[str],
) -> tuple[list[str], list[int], list[int]]:
    """The telling lines that the bug removed; which of them are common; and which are only parts of other lines."""
    kept = {line.strip() for section in (*sections, *given) for line in section.added_lines}
    removed = dict.fromkeys(line.strip() for section in sections for line in section.removed_lines)
    remaining = {
        line.strip()
        for section in sections
        if section.old_path
        for line in left(before.get(section.old_path, ""), section).split("\n")
    }
    lines = [line for line in removed if len(line) >= SHORTEST and line not in kept and line not in remaining]
    elsewhere = {line.strip() for text in others for line in text.split("\n")}
    there = "\n".join(line for line in (*elsewhere, *remaining, *kept) if len(line) <= LONGEST)
    common = [index for index, line in enumerate(lines) if line in elsewhere]
    return lines, common, [index for index, line in enumerate(lines) if index >= MOST_LINES or line in there]


def _shingles(
    before: Mapping[str, str], after: Mapping[str, str], hunks: Mapping[str, Sequence[str]], others: Sequence[str]
) -> dict[tuple[str, int], tuple[str, ...]]:
    """The shingles that only the original's changed files hold, by view and length, with growing length until there are
    enough. `others` are code without comments: a comment may be a leaked copy, whose shingles would then not be
    searched for."""
    paths = [path for path in sorted(before) if before[path] != after.get(path)][:MOST_FILES]
    found = {}
    for length in LENGTHS:
        for view in sorted({"listed", *map(view_of, paths)}):
            own = [path for path in paths if view in ("listed", view_of(path))]
            there = {hash(one) for text in after.values() for one in _cut(view, length, text)}
            lost = [one for path in own for one in _cut(view, length, before[path]) if hash(one) not in there]
            near = {one for path in own for text in hunks.get(path, ()) for one in _cut(view, length, text)}
            told = _told([one for one in lost if one in near], view, length, others) or _told(
                lost, view, length, others
            )
            if len(told) * length >= LEAST_TOKENS:
                found[view, length] = told
        if max(map(len, found.values()), default=0) >= ENOUGH:
            break
    return found


def _old_side(hunk: patches.Hunk) -> str:
    return "\n".join(line[1:] for line in hunk.lines if line[:1] != "+")


def _cut(view: str, length: int, text: str) -> Iterator[tuple[bytes, ...]]:
    return shingles(tokens(view, encode(text)), length)


def _told(lost: Sequence[tuple[bytes, ...]], view: str, length: int, others: Sequence[str]) -> tuple[str, ...]:
    """A sample of these shingles, without those that occur in the other code."""
    sample = dict.fromkeys(lost[:: max(1, -(-len(lost) // MOST_SHINGLES))])
    words = [[token.decode("latin-1") for token in one] for one in sample]
    anchors = [word.encode("latin-1") for word in _cover(_anchors(words, others))]
    for text in others:
        if sample and any(anchor in encode(text) for anchor in anchors):
            for one in _cut(view, length, text):
                sample.pop(one, None)
    return tuple(b" ".join(one).decode("latin-1") for one in sample)


def _anchors(every: Sequence[Sequence[str]], others: Sequence[str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Anchor words, those that are rare and occur in many shingles first, each with the numbers of its shingles."""
    held: dict[str, list[int]] = {}
    for number, words in enumerate(every):
        for word in sorted(set(words), key=lambda word: (-len(word), word))[:MOST_WORDS]:
            held.setdefault(word, []).append(number)
    sample = [encode(text) for text in others[:: max(1, len(others) // 100)]]
    score = {
        word: len(places) * len(word) / (1 + sum(word.encode("latin-1") in data for data in sample))
        for word, places in held.items()
    }
    ordered = sorted(held, key=lambda word: (-score[word], word))
    return tuple((word, tuple(held[word])) for word in ordered)


def _cover(anchors: Iterable[tuple[str, Sequence[int]]]) -> list[str]:
    """A set of words such that every shingle contains one."""
    covered, found = set[int](), []
    for word, places in anchors:
        if not covered.issuperset(places):
            covered.update(places)
            found.append(word)
    return found


def _is_code(path: str, suffixes: Collection[str]) -> bool:
    """Whether it is a file in a programming language. Other files may be leaked copies, whose parts would then not be
    searched for."""
    return view_of(path) != "plain" or PurePosixPath(path).suffix in suffixes


def _stem(path: str) -> str:
    """The name in this module's compiled file: the module's, or its package's."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _after(before: Mapping[str, str], sections: Iterable[patches.FilePatch]) -> dict[str, str]:
    """The changed files after these sections, applied in order; deleted files are empty."""
    texts = dict(before)
    for section in sections:
        text = left(texts.get(section.old_path or "", ""), section)
        if section.kind == "deleted" or section.kind == "renamed":
            texts[section.old_path or ""] = ""
        if section.kind != "deleted":
            texts[section.path] = text
    return texts


def left(text: str, section: patches.FilePatch) -> str:
    """A file after a section of a diff."""
    if section.kind == "deleted":
        return ""
    lines, found, at = text.split("\n"), list[str](), 0
    for hunk in section.hunks:
        start = hunk.old_start - (hunk.old_count > 0)
        found += lines[at:start]
        found += [line[1:] for line in hunk.lines if line[:1] in (" ", "+", "")]
        at = start + hunk.old_count
    return "\n".join([*found, *lines[at:]])
