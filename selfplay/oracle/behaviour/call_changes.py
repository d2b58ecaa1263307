"""How one input of a call becomes another: each change is a kind of input that tests seldom hold."""

import ast
import copy
import random
import re
import string
import sys
import unicodedata
from collections.abc import Callable, Sequence

from selfplay.oracle.behaviour.call_source import constant, value_of
from selfplay.oracle.behaviour.literals import MODEST, another
from selfplay.python_source import short_expression

EXTREMES: tuple[object, ...] = (
    "", " ", "é☃\U0001f40d", "a" * 400, "%s{0}\\u", 0, -1, 1, 9_999, None, (), 1.5, 0.1, True, "\ud800",
    "٣", "²½", "-1", "1_0", "e\u0301\u20dd", 2**53 + 1, b"", b" ", {}, "²", "½", "五", "7", "\U000e0101", "\u200d",
    1.2e-05, 1e-09, 123456789.000001, 10**12, 10**15 + 1, 1e16,
)  # fmt: skip
NOTHING: tuple[object, ...] = (0, None, "", [], {}, (), 0.0, False, b"")
"""What is false: a program may mean one of them and ask for all."""
BLANKS = ("\t", "\r\n", "\n", "  ", "   ", "\r", "\v", "\xa0", "\0", "\u3000", "\x1c")
DIGITS = tuple("".join(map(chr, range(first, first + 10))) for first in (0x660, 0xFF10, 0x2080))
"""Arabic and wide ones, which `int` takes, and small ones below the line, which only `isdigit` does."""
LETTERS = "aBcDéÉßñÑΩωЯя"
"""Of words in mixed case, and in other scripts."""
_DERIVES = 0.15
"""How often a value that becomes another type becomes one derived from its own."""
_DERIVED = ("str", "bytes", "int", "float", "list", "tuple", "dict")
_KIN = (
    ("Value", "{}"), ("Item", "{}"), ("Entry", "{'__bool__': lambda self: False}"),
    ("Field", "dict(__eq__=lambda self, other: True, __ne__=lambda self, other: False, __hash__=lambda self: 1)"),
)  # fmt: skip
"""Name and methods of such a type."""
KIN_NAMES = tuple(name for name, _ in _KIN)
_LONG, _AS_LENGTH, _FIRST_CHARACTER = 2_000, 0.6, 32
"""The longest text made for a number that the code asks for, how often it is rather a length, and the least number that
is also tried as a character's."""
_BLANK = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ALONE, _ENDED, _TYPE, _CHARACTER, _MANY = 0.25, 0.15, 0.1, 0.2, 40
"""How often a text is replaced as a whole by a value that the code asks for, or gets a line end, a value becomes its
type, and a value that the code asks for stands for one of its characters; the most items of a container."""
Change = Callable[[ast.expr, ast.expr, random.Random], ast.expr | None]


def kind_of(node: ast.expr) -> type:
    """The type of an input."""
    return type(value_of(node))


def near(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """A similar value."""
    value = value_of(node)
    if isinstance(value, ast.AST):
        return _fewer(node, chance)
    pool = [value_of(other)] if isinstance(value_of(other), str) else []
    return constant(another(value, chance, pool))  # type: ignore[arg-type]


def _fewer(node: ast.expr, chance: random.Random) -> ast.expr | None:
    """A container with one item removed or repeated."""
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        return None
    made = copy.deepcopy(node)
    at = chance.randrange(len(made.elts))
    made.elts[at : at + 1] = chance.choice(([], [made.elts[at], made.elts[at]], [*reversed(made.elts)]))
    return made


def crossed(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """The input of another call in its place."""
    return copy.deepcopy(other) if kind_of(node) == kind_of(other) or chance.random() < 0.2 else None


def grown(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """The value joined with another call's input, repeated, or nested."""
    value, more = value_of(node), value_of(other)
    if isinstance(value, str):
        joint = chance.choice(("", " ", "\n", "; ", ", "))
        near_by = more if isinstance(more, str) else value
        both = value + joint + near_by
        larger = (both, near_by + joint + value, joint.join([value] * 4), f"({value})", both + joint + both)
        return constant(chance.choice(larger))
    if isinstance(value, int | float):
        return constant(value * chance.choice((3, 10, 25)) + chance.choice((0, 1)))
    if isinstance(node, ast.List | ast.Tuple):
        beside = other.elts if isinstance(other, ast.List | ast.Tuple) else node.elts
        elts = chance.choice(([*node.elts, *beside], [*beside, *node.elts, *node.elts], [node]))
        return type(node)([copy.deepcopy(one) for one in elts], ast.Load())
    return None


def reworded(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """The same text with some or all of its words replaced, repeated words consistently; in a container, each item."""
    value = value_of(node)
    if isinstance(node, ast.List | ast.Tuple):
        return type(node)([reworded(one, one, chance) or one for one in node.elts], ast.Load())
    if not isinstance(value, str):
        return None
    words = list(dict.fromkeys(_WORD.findall(value)))
    if not words:
        return None
    chosen = chance.sample(words, chance.randint(1, len(words)))
    letters = chance.choice((string.ascii_lowercase, string.ascii_lowercase, LETTERS))
    fresh = {word: "".join(chance.choices(letters, k=chance.randint(1, 9))) for word in chosen}
    return constant(_WORD.sub(lambda found: fresh.get(found[0], found[0]), value))


def extreme(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """An empty, tiny or huge value, mostly of the same type."""
    same = [one for one in EXTREMES if type(one) is type(value_of(node))]
    return constant(chance.choice(same if same and chance.random() < 0.7 else EXTREMES))


def kin(node: ast.expr, chance: random.Random) -> ast.expr | None:
    """The same value of a type derived from its own, which is perhaps never true, or equal to everything."""
    base = {ast.List: "list", ast.Tuple: "tuple", ast.Dict: "dict"}.get(type(node), type(value_of(node)).__name__)
    if base not in _DERIVED:
        return None
    said = chance.choice(_KIN)
    return ast.Call(short_expression(f"type({said[0]!r}, ({base},), {said[1]})"), [copy.deepcopy(node)], [])


def turned(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """The same value as another type: text as a list of characters or numbers, a list as a tuple; one derived from its
    own; or its type."""
    if chance.random() < _DERIVES and (made := kin(node, chance)) is not None:
        return made
    value = value_of(node)
    if isinstance(value, bool | int | float | str) and chance.random() < _TYPE:
        return ast.Name(type(value).__name__, ast.Load())
    if isinstance(value, bool):
        return constant(not value)
    if isinstance(value, str):
        kinds = (list(value), tuple(value), [ord(one) for one in value[:20]], value.upper(), value.lower(),
                 [None, 0, *value[:5]], value.replace(" ", "\n"), value * 2, value[::-1], value[:1])  # fmt: skip
        return constant(chance.choice(kinds))
    if isinstance(value, int):
        return constant(chance.choice((float(value), str(value), -value)))
    return _other_container(node, chance)


def _other_container(node: ast.expr, chance: random.Random) -> ast.expr | None:
    """The items of a container in one of another type; a dictionary with numbers as keys."""
    if isinstance(node, ast.Dict):
        return ast.Dict([constant(at) for at in range(len(node.keys))], node.values)
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    others: list[ast.expr] = [ast.List(node.elts, ast.Load()), ast.Tuple(node.elts, ast.Load())]
    if node.elts and all(isinstance(one, ast.Constant) for one in node.elts):
        others += [ast.Set(node.elts), ast.Dict([*node.elts], [constant(1)] * len(node.elts))]
    return chance.choice([one for one in others if type(one) is not type(node)])


def spaced(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """A text with other white space, in one place or wherever it has any, or with a line end behind it; a number
    between two whole ones, where tests pass such numbers."""
    value, blank = value_of(node), chance.choice(BLANKS)
    if isinstance(value, int | float) and isinstance(value_of(other), float) and abs(value) < MODEST:
        return constant(int(value) + chance.choice((0.5, -0.5)))
    if not isinstance(value, str):
        return None
    found = list(_BLANK.finditer(value))
    if chance.random() < _ENDED:
        return constant(value + "\n")
    if not found:
        at = chance.randrange(len(value) + 1)
        return constant(value[:at] + blank + value[at:])
    if chance.random() < _ALONE:
        return constant(_BLANK.sub(lambda _: blank, value))
    one = chance.choice(found)
    return constant(value[: one.start()] + blank + value[one.end() :])


def alike(node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """An item beside one that it is equal to, of another type; a number as one; a text with the digits of another
    script, or with its accents as letters of their own. (Nothing that is unequal to itself: any comparison with it is
    false, so that a limit would count as passed.)"""
    if isinstance(node, ast.List | ast.Tuple):
        places = [at for at, one in enumerate(node.elts) if _equal(value_of(one)) is not None]
        if not places:
            return None
        made, at = copy.deepcopy(node), chance.choice(places)
        made.elts.insert(at + chance.randrange(2), constant(_equal(value_of(node.elts[at]))))
        return made
    value = value_of(node)
    if isinstance(value, str):
        other_digits = value.translate(str.maketrans("0123456789", chance.choice(DIGITS)))
        text = other_digits if other_digits != value else unicodedata.normalize("NFD", value)
        return constant(text) if text != value else None
    return None if _equal(value) is None else constant(_equal(value))


def _equal(value: object) -> object:
    """A value of another type that is equal; None if there is none."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return bool(value) if value in (0, 1) else float(value) if abs(value) < MODEST else None
    return int(value) if isinstance(value, float) and value.is_integer() else None


def asked(values: Sequence[str | int], node: ast.expr, other: ast.expr, chance: random.Random) -> ast.expr | None:
    """The input with one of these values: a text with it in the place of a word or beside one, or with one of its
    characters, of so many characters or with the character of this number, a number at it or next to it, and a
    container of so many items; one more or less, too."""
    value, given = value_of(node), chance.choice(values)
    if isinstance(value, str) and type(given) is int:
        made = _counted(value, given + chance.choice((-1, 0, 1)), chance)
        return constant(made) if made is not None else None
    if isinstance(value, str) and isinstance(given, str):
        given = chance.choice(given) if chance.random() < _CHARACTER else given
        words = list(_WORD.finditer(value))
        if not words or chance.random() < _ALONE:
            return constant(given)
        word = chance.choice(words)
        put = chance.choice((given, f"{given} {word[0]}", f"{word[0]} {given}"))
        return constant(value[: word.start()] + put + value[word.end() :])
    if type(value) is int and type(given) is int:
        return constant(given + chance.choice((-1, 0, 1)))
    if isinstance(node, ast.List | ast.Tuple) and node.elts and type(given) is int and abs(given) <= _MANY:
        size = max(0, given + chance.choice((-1, 0, 1)))
        return type(node)([copy.deepcopy(node.elts[at % len(node.elts)]) for at in range(size)], ast.Load())
    return None


def _counted(text: str, number: int, chance: random.Random) -> str | None:
    """The text with so many characters, or with the character of this number; None if it can have neither."""
    if text and 0 <= number <= _LONG and chance.random() < _AS_LENGTH:
        return (text * (number // len(text) + 1))[:number]
    at = chance.randrange(len(text) + 1)
    return text[:at] + chr(number) + text[at:] if _FIRST_CHARACTER <= number <= sys.maxunicode else None


CHANGES: dict[str, Change] = {
    "near": near, "crossed": crossed, "grown": grown, "reworded": reworded, "extreme": extreme, "turned": turned,
    "alike": alike, "spaced": spaced,
}  # fmt: skip
