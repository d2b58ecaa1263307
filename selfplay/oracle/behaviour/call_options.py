"""Options: arguments by name that a function of the program takes and that a call does not give it.

Tests seldom use two options together, or all of them: a line that passes an option on, or asks for it, runs in every
call and shows in none. The signatures of the program's functions say which there are, and what other values they may
have is guessed from their defaults, their annotations and what the functions compare them with.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from keyword import iskeyword
from typing import NamedTuple

from selfplay.oracle.behaviour.call_source import call_tree
from selfplay.oracle.rewriting.python_trees import Function, parsed, source_of

MOST_OF_A_CALL, LONGEST_OPTION, ANY_PLACE = 2, 60, 1_000
"""The most options that a call gets at once; the characters of a value; the place of an option that has none."""
MOST_WORDS = 8
"""Words of a function that takes any option by name, which are tried as such."""
MOST_OPTIONS, MOST_BASES = 100, 8
"""Options of one function, and bases of a class, that are looked at: each class has those of its bases, too."""


class Option(NamedTuple):
    """`values`: their sources; `place`: how many arguments by position leave it free."""

    values: tuple[str, ...]
    place: int


Options = Mapping[str, Mapping[str, Option]]
"""Function or class -> name of an option -> the option."""
ANY_NAMES = ("some", "other")
"""Options of a function that takes any."""
FUNCTIONS = ("str", "len", "repr", "lambda *given: given[-1]", "lambda *given: None")
_TRUTHS, _TEXTS = ("True", "False"), ("''", "'-'", "' '", "'x'", "'ab'")
_NUMBERS = ("0", "1", "2", "3", "5", "-1", "10")
_BY_WORD = {"bool": _TRUTHS, "int": _NUMBERS, "float": ("0.5", "1.5", "0.0"), "str": _TEXTS, "Callable": FUNCTIONS,
            "Iterable": ("()", "['x']", "[1]"), "Sequence": ("()", "['x']", "[1]"), "Mapping": ("{}", "{'x': 'y'}"),
            "list": ("[]", "['x']"), "tuple": ("()", "('x', 'y')"), "dict": ("{}", "{'x': 'y'}")}  # fmt: skip
_OF_ANY_NAME = ("1", "'x'", "{'x': 1}", "[]", "False", "True", "None")
_OF_ANY = ("True", "1", "2", "'x'", "''", "()", "['x']", *FUNCTIONS)


def options_of(texts: Iterable[str]) -> Options:
    """The options of the functions and classes in these files; an option that nothing suggests a value for is none."""
    found = defaultdict[str, dict[str, Option]](dict)
    bases = dict[str, list[str]]()
    for tree in (tree for tree in map(parsed, texts) if tree is not None):
        known = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                above = node.bases[:MOST_BASES]
                bases.setdefault(node.name, [getattr(one, "id", getattr(one, "attr", "")) for one in above])
                made = [one for one in node.body if isinstance(one, Function) and one.name in ("__init__", "__new__")]
                for one in made:
                    found[node.name] = dict(islice(_options(one, known), MOST_OPTIONS))
            elif isinstance(node, Function) and node.name not in ("__init__", "__new__"):
                found[node.name] |= islice(_options(node, known), MOST_OPTIONS - len(found[node.name]))
    for kind, named in bases.items():
        for base in named:
            others = (item for item in found[base].items() if item[0] not in found[kind])
            found[kind] |= [*islice(others, MOST_OPTIONS - len(found[kind]))]
    return {name: options for name, options in found.items() if options}


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """What the names of a module stand for, where this is a constant."""
    return {
        one.targets[0].id: one.value for one in tree.body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and isinstance(one.value, ast.Constant)
    }  # fmt: skip


def _options(function: Function, known: Mapping[str, ast.expr]) -> Iterator[tuple[str, Option]]:
    given = function.args
    places = [*given.posonlyargs, *given.args]
    bound = sum(one.arg in ("self", "cls") for one in places[:1])
    first = len(places) - len(given.defaults)
    by_place = [(places[at], one, at - bound) for at, one in enumerate(given.defaults, first)]
    by_name = by_place[max(0, len(given.posonlyargs) - first) :]
    by_word, compared = zip(given.kwonlyargs, given.kw_defaults, strict=True), _compared(function)
    by_rest = [*_taken(function, given.kwarg.arg)] if given.kwarg is not None else []
    for name, default, place, says in (
        *((arg.arg, one, place, arg.annotation) for arg, one, place in by_name),
        *((arg.arg, one, ANY_PLACE, arg.annotation) for arg, one in by_word if one is not None),
        *((name, one, ANY_PLACE, None) for name, one in by_rest),
    ):
        values = _values(compared[name], default, known, says)
        if values:  # what an unknown name stands for suggests none
            yield name, Option(values, place)
    if given.kwarg is not None:
        own = {arg.arg for arg in (*places, *given.kwonlyargs)} | {name for name, _ in by_rest}
        others = {*ANY_NAMES, *islice(_words(function), MOST_WORDS)} - own
        yield from ((name, Option(_OF_ANY_NAME, ANY_PLACE)) for name in sorted(others))


def _words(function: Function) -> Iterator[str]:
    """Words in the texts of a function that may name an option that it passes on."""
    values = (node.value for node in ast.walk(function) if isinstance(node, ast.Constant))
    yield from (one for one in values if isinstance(one, str) and one.isidentifier() and not iskeyword(one))


def _taken(function: Function, rest: str) -> Iterator[tuple[str, ast.expr]]:
    """What a function takes from its `**rest` by `rest.pop("name", default)` or `rest.get("name")`."""
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="pop" | "get"),
                args=[ast.Constant(value=str(option)), *default],
            ) if name == rest and option.isidentifier():
                yield option, default[0] if default else ast.Constant(None)


def _values(
    compared: Sequence[str], default: ast.expr, known: Mapping[str, ast.expr], says: ast.expr | None
) -> tuple[str, ...]:
    """Sources of values beside the default: what the function compares the option with, then what its annotation and
    its default suggest."""
    default = known.get(default.id, default) if isinstance(default, ast.Name) else default
    said = source_of(says) if says is not None else ""
    values = [*compared]
    for word, of_word in _BY_WORD.items():
        values += of_word if word in said else ()
    values += _beside(default, bool(values))
    return tuple(one for one in dict.fromkeys(values) if one != source_of(default) and len(one) <= LONGEST_OPTION)


def _beside(default: ast.expr, suggested: bool) -> tuple[str, ...]:
    match default:
        case ast.Constant(value=bool()):
            return _TRUTHS
        case ast.Constant(value=int() | float() as number):
            return (*_NUMBERS, repr(number + 1), repr(number * 2))
        case ast.Constant(value=str() as text):
            return (*_TEXTS, repr(text * 2), repr(text.swapcase()))
        case ast.Constant(value=None):
            return () if suggested else _OF_ANY
        case ast.Tuple() | ast.List() | ast.Set():
            return ("()", "['x']", "('x', 'y')")
        case ast.Dict():
            return ("{}", "{'x': 'y'}")
        case ast.Lambda() | ast.Name() | ast.Attribute():
            return FUNCTIONS
    return ()


def _compared(function: Function) -> dict[str, list[str]]:
    """Name -> the constants that it is compared with."""
    found = defaultdict[str, list[str]](list)
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            parts = (part for other in node.comparators for part in ast.walk(other))
            found[node.left.id] += [repr(one.value) for one in parts if isinstance(one, ast.Constant)]
    return found


def with_option(call: ast.expr, other: ast.expr, options: Options, chance: random.Random) -> None:
    """Give one of the calls in this one an option that it lacks, if there is one, as another call has it or with one of
    these values. Changes the tree."""
    given = [*_given(other)]
    lacking = list[tuple[ast.Call, str, tuple[str, ...]]]()
    for node in ast.walk(call):
        if isinstance(node, ast.Call) and not any(one.arg is None for one in node.keywords):
            name, has = _called(node), {one.arg for one in node.keywords}
            offered = {option: Option((value,), ANY_PLACE) for of, option, value in given if of == name}
            every = {**options.get(name, {}), **offered}
            free = {option: one for option, one in every.items() if option not in has and len(node.args) <= one.place}
            lacking += [(node, option, one.values) for option, one in free.items()]
    if lacking:
        node, option, values = chance.choice(lacking)
        node.keywords.append(ast.keyword(option, call_tree(chance.choice(values))))


def _given(call: ast.expr) -> Iterator[tuple[str, str, str]]:
    """(function, option, source of its value) of the options that the calls in this one give."""
    for node in ast.walk(call):
        if isinstance(node, ast.Call):
            yield from ((_called(node), one.arg, ast.unparse(one.value)) for one in node.keywords if one.arg)


def _called(node: ast.Call) -> str:
    """The name of what is called, without what stands before the last dot."""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))
