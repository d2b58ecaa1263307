"""Turns cuts of a source into a change."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from selfplay.believable import BelievableRules, faults
from selfplay.scripted.edits.cuts import Cut, PlantedChange, apply_cuts, cuts_between
from selfplay.scripted.tree_sitter.tidy import tidied_text
from selfplay.syntax import parse
from selfplay.syntax.source import Unreadable


def made(path: str, language: str, text: str, cuts: Sequence[Cut]) -> PlantedChange | None:
    """The believable change that these cuts make, without newly unused code; None if there is none."""
    what = "; ".join(dict.fromkeys(cut.what for cut in cuts if cut.what))
    return made_of(path, language, text, apply_cuts(text, cuts), what)


def made_of(
    path: str, language: str, text: str, after: str, what: str, rules: BelievableRules = BelievableRules()
) -> PlantedChange | None:
    """The believable change from one text to another. None when the other does not parse, or is the same program."""
    try:
        if program(language, after) == program(language, text):
            return None
        after = tidied_text(language, text, after)
    except Unreadable:
        return None
    if faults(rules, {path: text}, {path: after}):
        return None
    return PlantedChange(path, text, after, cuts_between(text, after), what)


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
