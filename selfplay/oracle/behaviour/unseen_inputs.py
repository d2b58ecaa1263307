"""Makes novel inputs: every literal of a call or a test is replaced, so that no input occurs in the tests.

A program that memorised the tests' inputs may also know most small values: `1`, `[]` and `'a'` occur in every suite. If
only one input changed, the others would still be known.
"""

import ast
import copy
import random
import re
import string
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from selfplay.oracle.behaviour.call_probes import LONGEST
from selfplay.oracle.behaviour.call_source import call_tree, constant, get_input, places, set_input, value_of
from selfplay.oracle.behaviour.literals import cut_cases, inputs
from selfplay.oracle.rewriting.python_trees import Function

_WORD = re.compile(r"[A-Za-z0-9]+")
_LEAST_WORD, _LEAST_SIGNS = 4, 3
_DIGITS, _LETTERS = re.compile("[0-9]+"), re.compile("[a-z]+")
_NEAR, _WANTED = 400, 12
"""How many numbers after one are looked for in the tests' text, and how many that it lacks are wanted."""
_FILLED, _TURNED, _KEPT, _NAMED = 0.5, 0.25, 0.4, 0.75
"""Probabilities: an empty container gets an item, a truth value becomes a number of the same truth, a word stays; a
name that the program's own code holds stays."""
_OTHER_SIGN, _BETWEEN = 0.1, 0.2
"""How often a strange number has the other sign, and is no whole number, close to the test's. Larger numbers are never
what a test's `maxsize=0` is: too small for anything."""
_SMALL = 0.4
"""How often 0 and 1 stay in a test: they begin and count."""
_TAKING_APART = 0.5
"""How often `[:2]` and `[-1]` stay in a test: they take values apart rather than being some."""
TIMES, _LONGEST_TEXT = (1, 1, 1, 3, 8, 20), 400
"""How often texts are repeated: novel numbers are larger than the tests', and what is cut at a novel length must be
longer than that; a longer text is not repeated."""


class ShownText:
    """The text of the tests. What it lacks is asked for thousands of times."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._beyond = dict[int, list[int]]()

    @cached_property
    def _lower(self) -> str:
        return self.text.lower()

    @cached_property
    def _numbers(self) -> str:
        """All runs of digits in it."""
        return " ".join(dict.fromkeys(_DIGITS.findall(self.text)))

    @cached_property
    def _pieces(self) -> set[str]:
        """The beginnings that words of small letters may have: at most one for each four letters of the alphabet."""
        runs = {*_LETTERS.findall(self._lower)}
        return {run[at : at + _LEAST_WORD] for run in runs for at in range(len(run) - _LEAST_WORD + 1)}

    def has_word(self, word: str) -> bool:
        """Whether it contains this word of small letters, at least `_LEAST_WORD` of them."""
        return word[:_LEAST_WORD] in self._pieces and word in self._lower

    def numbers_beyond(self, least: int) -> list[int]:
        """Some larger numbers, close to this one, that it does not contain."""
        if least not in self._beyond:
            near = (one for one in range(least + 1, least + _NEAR) if str(one) not in self._numbers)
            found = [*islice(near, _WANTED)]
            # no text has all numbers of more digits than its own length has
            self._beyond[least] = found or [10 ** (len(str(least)) + len(str(len(self._numbers))) + 2) + least]
        return self._beyond[least]


shown_text = lru_cache(maxsize=4)(ShownText)


@dataclass(frozen=True)
class Novelty:
    """`shown`: the tests' text; `names`: texts most of which stay, since the program's own code says them too;
    `strange`: numbers of the other sign and fractions may stand for numbers. What a program does with these is often
    nowhere said, so they are asked for only where others do not show the bug."""

    shown: str
    names: Collection[str] = ()
    strange: bool = False


class Novel:
    """Replaces values by others that do not occur in the tests; equal values get equal replacements. `times`: how often
    texts are repeated."""

    def __init__(self, novelty: Novelty, chance: random.Random, times: int = 1) -> None:
        self.chance, self.names, self._strange = chance, novelty.names, novelty.strange
        self._shown = shown_text(novelty.shown)
        self._times = times
        self._given = dict[tuple[type, object], object]()
        self._words = dict[str, str]()

    def value(self, value: object) -> object:
        """Another value of the same type; the value itself if its type has no other."""
        if value is True and self.chance.random() < _TURNED:
            return self._number(1)
        if value is None or isinstance(value, bool) or not isinstance(value, int | float | str | bytes):
            return value
        key = type(value), value
        if key not in self._given:
            self._given[key] = self._other(value)
        return self._given[key]

    def _other(self, value: int | float | str | bytes) -> object:
        if isinstance(value, bytes):
            return self._text(value.decode("latin-1")).encode("latin-1", "replace")
        if isinstance(value, str):
            return value if value in self.names and self.chance.random() < _NAMED else self._text(value)
        if self._strange and self.chance.random() < _BETWEEN and abs(value) < 1e9:
            return self._between(int(value))
        turned = self._strange and self.chance.random() < _OTHER_SIGN
        number = self._number(abs(int(value)) if abs(value) < 1e9 else 0)
        number = -number if (value < 0) != turned else number
        return number if isinstance(value, int) else number + 0.37

    def _between(self, whole: int) -> float:
        """A number less than one away from this one that does not occur in the tests."""
        for digits in (3, 3, 3, 4, 5, 6):
            made = whole + round(self.chance.uniform(-0.999, 0.999), digits)
            if str(made) not in self._shown.text:
                break
        return made

    def _number(self, least: int) -> int:
        """A larger number, close to it, that does not occur in the tests."""
        return self.chance.choice(self._shown.numbers_beyond(least))

    def _text(self, text: str) -> str:
        """The text with some words replaced, so that it does not occur in the tests as a whole; punctuation, case and
        repetitions stay, and it may be repeated. Signs that are more than a separator get a word."""
        if len(text) >= _LEAST_SIGNS and not _WORD.search(text) and not text.isspace():
            return text + self._word("sign")
        made = _WORD.sub(lambda found: self._among(found[0], _KEPT), text)
        made = made if made not in self._shown.text else _WORD.sub(lambda found: self._among(found[0], 0.0), text)
        return made * self._times if len(made) * self._times <= _LONGEST_TEXT and not made.isidentifier() else made

    def _among(self, word: str, kept: float) -> str:
        """A replacement of this word, always the same one; with probability `kept`, the word itself."""
        known = self._words.get(word)
        if known is None or (known == word and not kept):
            known = self._words[word] = word if self.chance.random() < kept else self._word(word)
        return known

    def _word(self, word: str) -> str:
        if word.isdecimal():
            return str(self._number(int(word[:6])))
        for longer in (0, 0, 0, 0, 1, 2, 4, 8):
            length = max(_LEAST_WORD, min(len(word), 9)) + longer
            made = "".join(self.chance.choices(string.ascii_lowercase, k=length))
            if not self._shown.has_word(made):
                break
        return made.upper() if word.isupper() else made.capitalize() if word[0].isupper() else made


def is_novel(call: str, shown: str, names: Collection[str] = ()) -> bool:
    """Whether none of this call's inputs occurs in the tests; truth values, None and `names` do not count: of options,
    which the program's own code holds (`program_names.py`)."""
    tree = call_tree(call)
    nodes = [get_input(*place) for place in places(tree)]
    values = [value_of(node) for node in nodes]
    told = [str(one) for one in values if not isinstance(one, ast.AST | bool | None) and one not in names]
    told += [ast.unparse(one) for one in values if isinstance(one, ast.AST)]
    return bool(told) and not any(one in shown for one in told)


def all_novel(calls: Sequence[str], most: int, seed: int, novelty: Novelty) -> list[str]:
    """At most `most` variants of these calls with every input replaced, taking the calls in turn."""
    chance, found = random.Random(seed), dict[str, None]()
    for turn in range(3 * most if calls else 0):
        made = _renewed(calls[turn % len(calls)], Novel(novelty, chance, chance.choice(TIMES)))
        if len(made) <= LONGEST:
            found[made] = None
        if len(found) == most:
            break
    return [*found]


def _renewed(call: str, novel: Novel) -> str:
    tree = call_tree(call)
    for parent, name, at in [*places(tree)]:
        node = get_input(parent, name, at)
        value = value_of(node)
        if not isinstance(value, ast.AST):
            set_input(parent, name, at, constant(novel.value(value)))
        elif novel.chance.random() < _FILLED:
            _fill(node, novel)
    return ast.unparse(ast.fix_missing_locations(tree))


def novel_test(function: Function, novel: Novel) -> Function:
    """A copy of a test function with every literal replaced; only one parametrised case is kept. A text that the test
    also uses as a name (`wraps(f, expected=["c"])` and then `f(c=4)`) is one of the names that may stay, and so may
    bounds of slices, places from the end, and, beside other literals, 0 and 1 (`seek(0)`, `read(1)`)."""
    made = copy.deepcopy(function)
    novel.names = {*novel.names, *_spoken(made)}
    stays = set(_taking_apart(made)) if novel.chance.random() < _TAKING_APART else set()
    places = [one for one in inputs(made) if one not in stays]
    small = {one for one in places if type(one.value) is int and abs(one.value) <= 1}
    others = [one for one in places if one not in small]
    if novel.chance.random() < _SMALL and any(novel.value(one.value) != one.value for one in others):
        places = others
    for place in places:
        place.value = novel.value(place.value)  # type: ignore[assignment]
    cut_cases(made, (), novel.chance)
    return made


def _taking_apart(function: Function) -> Iterator[ast.Constant]:
    """The numbers of `[:2]` and `[-1]`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice | ast.UnaryOp):
            yield from (one for one in ast.walk(node.slice) if isinstance(one, ast.Constant))


def _spoken(function: Function) -> set[str]:
    """The names of parameters, arguments and attributes in a test."""
    fields = ((ast.arg, "arg"), (ast.keyword, "arg"), (ast.Attribute, "attr"))
    return {getattr(one, field) or "" for one in ast.walk(function) for kind, field in fields if isinstance(one, kind)}


def _fill(node: ast.expr, novel: Novel) -> None:
    """Add an item to an empty container."""
    if isinstance(node, ast.Dict) and not node.keys:
        node.keys, node.values = [constant(novel.value("some"))], [constant(novel.value(3))]
    elif isinstance(node, ast.List | ast.Tuple) and not node.elts:
        node.elts = [constant(novel.value(3))]
