"""Texts that a regular expression of the program matches: what it looks for is seldom in an input of a test.

Patterns are only parsed, never matched: a pattern of a repository may take for ever. A sample may miss what looks ahead
or behind, or names a group; most do match.
"""

import random
import re
import string
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

MOST_REPEATED, LONGEST_PATTERN, LONGEST_SAMPLE, MOST_PARTS = 3, 2_000, 60, 1_000
"""How often a part that may be repeated is, beyond what it must; the characters of a pattern and of a sample; the
parts of a text, each turn of a repetition among them."""
_SPECIAL = frozenset("\\[(+*?{|")
_CLASSES: dict[str, Callable[[str], bool]] = {
    "DIGIT": str.isdecimal, "SPACE": str.isspace, "WORD": lambda one: one.isalnum() or one == "_",
}  # fmt: skip
_ANY = string.ascii_lowercase + string.digits + " \t\n-_.,:;/é☃"
_parse: Callable[[str], Any] = import_module("re._parser").parse


def samples(patterns: Iterable[str], of_each: int) -> list[str]:
    """Different texts made for those of these texts that are patterns, so many of each at most."""
    found = dict[str, None]()
    for pattern in patterns:
        if _SPECIAL & {*pattern} and len(pattern) <= LONGEST_PATTERN:
            chance = random.Random(pattern)
            found |= dict.fromkeys(text for _ in range(of_each) if len(text := sample(pattern, chance)) > 0)
    return [text for text in found if len(text) <= LONGEST_SAMPLE]


def sample(pattern: str, chance: random.Random) -> str:
    """One text for a pattern; empty if it is none, or takes too many parts."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _Sampler(chance).of_parts(_parse(pattern))
    except (re.error, RuntimeError, ValueError, OverflowError, MemoryError, TypeError):
        return ""


class _Sampler:
    """Makes one text. `groups`: what those that it has passed have got."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._groups, self._left = chance, dict[int | None, str](), MOST_PARTS

    def of_parts(self, parts: Iterable[tuple[Any, Any]]) -> str:
        """The text of parts that follow each other. Raises `ValueError` if they are too many."""
        return "".join(self._of(str(kind), value) for kind, value in parts)

    def _spend(self, parts: int) -> None:
        self._left -= parts
        if self._left < 0:
            raise ValueError("too many parts")

    def _of(self, kind: str, value: Any) -> str:
        self._spend(1)
        match kind:
            case "LITERAL":
                return chr(value)
            case "NOT_LITERAL":
                return _beside([("LITERAL", value)], self._chance)
            case "ANY":
                return self._chance.choice(_ANY)
            case "IN":
                return _of_set([(str(one), other) for one, other in value], self._chance)
            case "BRANCH":
                return self.of_parts(self._chance.choice(value[1]))
            case "SUBPATTERN":
                self._groups[value[0]] = made = self.of_parts(value[-1])
                return made
            case "ATOMIC_GROUP":
                return self.of_parts(value)
            case "GROUPREF":
                return self._groups.get(value, "")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, parts = value
                times = self._chance.randint(int(least), min(int(most), int(least) + MOST_REPEATED))
                self._spend(times)
                return "".join([self.of_parts(parts) for _ in range(times)])
        return ""  # what looks around, and where a text begins and ends


def _of_set(members: Sequence[tuple[str, Any]], chance: random.Random) -> str:
    """A character that is one of these, or none of them where the first says so."""
    if members[0][0] == "NEGATE":
        return _beside(members[1:], chance)
    kind, value = chance.choice(members)
    if kind == "LITERAL":
        return chr(value)
    if kind == "RANGE":
        return chr(chance.choice((value[0], value[1], chance.randint(*value))))
    allowed = [one for one in _ANY if _holds(kind, value, one)]
    return chance.choice(allowed) if allowed else ""


def _beside(members: Sequence[tuple[str, Any]], chance: random.Random) -> str:
    """A character that is none of these."""
    allowed = [one for one in _ANY if not any(_holds(kind, value, one) for kind, value in members)]
    return chance.choice(allowed) if allowed else ""


def _holds(kind: str, value: Any, character: str) -> bool:
    if kind == "LITERAL":
        return bool(chr(value) == character)
    if kind == "RANGE":
        return bool(value[0] <= ord(character) <= value[1])
    return _CLASSES[str(value).rpartition("_")[2]](character) != ("_NOT_" in str(value))
