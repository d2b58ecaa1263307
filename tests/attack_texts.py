"""Texts that hold up one regular expression, made from how `re` itself parses it.

A pattern that backtracks takes long on a text of three parts: one that leads into a repeat, a word that the repeat (or
what follows it) can take in more than one way, again and again, and one on which all of these ways fail. A search also
takes long where the word begins a match again and again. `families` makes such texts from the parsed pattern, for each
kind of character that it tells apart.
"""

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

LETTERS = string.ascii_letters + string.digits + string.punctuation + " \n\t\r\0\v\f" + "\x1b\x80\xe9\xff"
WIDE = LETTERS + "\u2028\u0130\u0301\udc80"
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
FEW = 10
"""A repeat of at most so many is written out: it cannot grow."""
FEW_ENDS = 3
MOST = 500
"""Families of a pattern: where there are more, they are taken evenly from all of them."""
MOST_PATHS = 32
FEW_WORDS = 3
"""So many of the plain words that stand for each other are tried."""
Item = tuple[Any, Any]
Path = tuple[Item, ...]


@dataclass(frozen=True)
class Family:
    """Texts of any length, made of one word."""

    before: str
    word: str
    after: str

    def text(self, times: int) -> str:
        return f"{self.before}{self.word * times}{self.after}"

    def __str__(self) -> str:
        return f"{self.before!r} + n * {self.word!r} + {self.after!r}"


class Characters:
    """The kinds of characters that a pattern tells apart, with one of each, and what each of its sets takes."""

    def __init__(self, path: Sequence[Item], flags: int, wide: bool) -> None:
        self.flags, self._known, self._letters = flags, dict[tuple[Item, str], bool](), dict[tuple[Item, str], str]()
        self.sets = list(dict.fromkeys(_sets(path)))
        kinds: dict[tuple[bool, ...], str] = {}
        for letter in WIDE if wide else LETTERS:
            kinds.setdefault(
                (*(self.takes(one, letter) for one in self.sets), letter == "\n", letter.isalnum()), letter
            )
        rarest = sorted(kinds.values(), key=lambda one: sum(self.takes(item, one) for item in self.sets))
        self.kinds = "".join(kinds.values())
        self.rarest = "".join(rarest)  # those that the fewest sets take first

    def takes(self, item: Item, letter: str) -> bool:
        if (item, letter) not in self._known:
            self._known[item, letter] = self._takes(item, letter)
        return self._known[item, letter]

    def _takes(self, item: Item, letter: str) -> bool:
        kind, what = item
        cases = {letter, letter.lower(), letter.upper()} if self.flags & re.IGNORECASE else {letter}
        if kind is sre.ANY:
            return bool(self.flags & re.DOTALL) or letter != "\n"
        if kind is sre.LITERAL or kind is sre.NOT_LITERAL:
            return (what in {ord(case) for case in cases if len(case) == 1}) == (kind is sre.LITERAL)
        inside = any(_holds(part, case) for part in what for case in cases if len(case) == 1)
        return inside != (what[0][0] is sre.NEGATE)

    def letter(self, item: Item, wanted: str) -> str:
        """A character that the item takes: the wanted one if it does."""
        if (item, wanted) not in self._letters:
            self._letters[item, wanted] = next((one for one in wanted + self.rarest if self.takes(item, one)), "")
        return self._letters[item, wanted]


def _holds(part: Item, letter: str) -> bool:
    kind, what = part
    if kind is sre.LITERAL:
        return ord(letter) == what
    if kind is sre.RANGE:
        return what[0] <= ord(letter) <= what[1]
    return kind is sre.CATEGORY and _category(what).match(letter) is not None


@cache
def _category(what: Any) -> re.Pattern[str]:
    name = str(what).removeprefix("CATEGORY_")
    sign = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.removeprefix("NOT_")]
    return re.compile(rf"\{sign.upper() if name.startswith('NOT_') else sign}")


def _frozen(part: Any) -> Any:
    """A part of what `re` parsed, as tuples."""
    return tuple(map(_frozen, part)) if isinstance(part, list | tuple | parser.SubPattern) else part


def _sets(path: Sequence[Item]) -> Iterator[Item]:
    for item in path:
        if item[0] in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            yield item
        for inner in _inner(item):
            yield from _sets(inner)


def _inner(item: Item) -> list[Path]:
    """The sequences that an item is made of."""
    kind, what = item
    if kind is sre.BRANCH:
        return list(what[1])
    if kind is sre.ATOMIC_GROUP:
        return [what]
    if kind is sre.SUBPATTERN or kind in REPEATS:
        return [what[-1]]
    return [what[1]] if kind in (sre.ASSERT, sre.ASSERT_NOT) else []


@cache
def paths(items: Sequence[Item]) -> list[Path]:
    """The ways through a sequence of which only characters and long repeats are left."""
    found: list[Path] = [()]
    for item in items:
        ways = _ways(item)
        wider = [path + way for path in found for way in ways]
        found = (
            wider if len(wider) <= MOST_PATHS else [found[0] + way for way in ways] + [p + ways[0] for p in found[1:]]
        )
    return list(dict.fromkeys(found))


@cache
def _ways(item: Item) -> list[Path]:
    kind, what = item
    if kind is sre.AT or kind is sre.GROUPREF:
        return [()]
    if kind in REPEATS:
        least, most, body = what
        if most > FEW:
            return [(item,)]
        return [way * times for times in dict.fromkeys((max(least, 1), least)) for way in paths(body)]
    inner = [way for one in _inner(item) for way in paths(one)]
    plain = [way for way in inner if all(part is sre.LITERAL for part, _ in way)]
    inner = [way for way in inner if way not in plain[FEW_WORDS:]]  # other words do the same
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [(), *(inner if what[0] > 0 else ())]
    return inner or [(item,)]


def words(path: Path, letters: Characters, wanted: str) -> list[str]:
    """A few short texts that the path takes, made of the wanted character where that is possible."""
    found = [""]
    for kind, what in path:
        if kind in REPEATS:
            least, _, body = what
            bodies = [word for way in paths(body)[:4] for word in words(way, letters, wanted)[:2]] if least else [""]
            found = [text + word * least for text in found for word in bodies][:4]
        else:
            found = [text + letters.letter((kind, what), wanted) for text in found]
    return found


def repeats(path: Path, before: Path = (), after: Path = ()) -> Iterator[tuple[Path, Path, Path]]:
    """Each repeat: what leads to it, its body, and what follows."""
    for at, (kind, what) in enumerate(path):
        if kind in REPEATS:
            lead, rest = before + path[:at], path[at + 1 :] + after
            for body in paths(what[2]):
                yield lead, body, rest
                yield from repeats(body, lead, body + rest)


def families(source: str | bytes, flags: int, search: bool) -> list[Family]:
    """Texts that may hold up a pattern; none for one in which nothing repeats."""
    state = parser.parse(source, flags)
    parsed, flags = _frozen(state), state.state.flags
    ways = [path for path in paths(parsed) if any(kind in REPEATS for kind, _ in path)]
    letters = Characters(parsed, flags, isinstance(source, str))
    found: dict[Family, None] = {}
    for way in ways:
        for before, body, after in repeats(way):
            ends = ["", *_failing(body, letters)[:FEW_ENDS]]
            ends.append(f"{ends[-1]}\n{ends[-1]}")
            for wanted in letters.kinds:
                for lead, word in _pumped((before, body, after), letters, wanted, search):
                    found |= {Family(lead, word, end): None for end in ends}
    return list(found)[:: len(found) // MOST + 1]


def _failing(body: Path, letters: Characters) -> str:
    """The kinds of characters that end a repeat of this body."""
    taken = list(_sets(body))
    return "".join(one for one in letters.rarest if not any(letters.takes(item, one) for item in taken))


def _filled(path: Path) -> Path:
    """The same with at least one of everything that repeats, so that what follows starts behind something else."""
    return tuple((kind, (max(what[0], 1), *what[1:])) if kind in REPEATS else (kind, what) for kind, what in path)


def _pumped(parts: tuple[Path, Path, Path], letters: Characters, wanted: str, search: bool) -> set[tuple[str, str]]:
    """What leads to a repeat, and words that it and what follows it take; a search begins with each of them too."""
    before, body, after = parts
    ends = [at for at, (kind, _) in enumerate(after) if at and kind in REPEATS]
    leads, bodies = words(before, letters, wanted), words(body, letters, wanted)
    leads += words(_filled(before), letters, "")[:1]
    repeated = {wanted, *bodies, *(word for end in [*ends, len(after)] for word in words(after[:end], letters, wanted))}
    starts = {lead + word for lead in leads for word in ("", *bodies)} if search else set()
    found = {(lead, word) for lead in leads for word in repeated} | {("", word) for word in starts}
    return {(lead, word) for lead, word in found if word}
