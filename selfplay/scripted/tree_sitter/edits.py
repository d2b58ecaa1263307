"""Turns cuts of a source into a change."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from selfplay.believable import BelievableRules, faults
from selfplay.scripted.edits.cuts import Cut, PlantedChange, apply_cuts, cuts_between
from selfplay.scripted.tree_sitter.spans import closed_up
from selfplay.scripted.tree_sitter.tidy import tidied_text
from selfplay.syntax import parse
from selfplay.syntax.grammar import language_of
from selfplay.syntax.scaffolds import scaffolds
from selfplay.syntax.source import Unreadable


def made(path: str, text: str, cuts: Sequence[Cut], *, whole: bool = False) -> PlantedChange | None:
    """The believable change that these cuts make, without newly unused code; None if there is none. `whole`: it may
    leave no scaffold of what it removes."""
    what = "; ".join(dict.fromkeys(cut.what for cut in cuts if cut.what))
    change = made_of(path, text, apply_cuts(text, cuts), what)
    return None if whole and change is not None and scaffolds(language_of(path), text, change.after or "") else change


def made_of(
    path: str, text: str, after: str, what: str, rules: BelievableRules = BelievableRules()
) -> PlantedChange | None:
    """The believable change from one text to another. None when the other does not parse, or is the same program."""
    language = language_of(path)
    try:
        if program(language, after) == program(language, text):
            return None
        after = _closed_up(text, tidied_text(language, text, after))
    except Unreadable:
        return None
    if faults(rules, {path: text}, {path: after}):
        return None
    return PlantedChange(path, text, after, cuts_between(text, after), what)


def _closed_up(before: str, after: str) -> str:
    """The new text without the blank lines that several cuts together leave at the edge of a block."""
    cuts, lines = list(cuts_between(before, after)), before.encode("utf-8", "surrogateescape").split(b"\n")
    for at, cut in enumerate(cuts):
        if not cut.lines:
            start, end = closed_up(lines, cut.start, cut.end)
            apart = (not at or cuts[at - 1].end < start) and (at + 1 == len(cuts) or end < cuts[at + 1].start)
            cuts[at] = replace(cut, start=start, end=min(end, len(lines))) if apart else cut
    return apply_cuts(before, cuts)


@lru_cache(maxsize=64)
def program(language: str, text: str) -> bytes:
    """A digest of the words of a program, without its comments. Raises `Unreadable`."""
    digest, source = hashlib.sha256(), parse(language, text)
    waiting = [source.root]
    while waiting:
        node = waiting.pop()
        if node.type == "comment":
            continue
        if not node.child_count:
            digest.update(b"%s\0" % source.data[node.start_byte : node.end_byte])
        waiting.extend(reversed(node.children))
    return digest.digest()
