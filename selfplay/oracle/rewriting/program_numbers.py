"""The numbers that a program has, and what an expression of constants alone always is: a new number that is large is a
limit that no input may ever reach (`fixed_code.py`).
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Set

NUMBER = "a number"
"""Stands in the place of a function beside a number of a file."""
LONGEST_TEXT = 60
"""Characters of a text whose numbers are those of the program."""
SMALL, UNKNOWN = 10, math.inf
"""Numbers up to here stand in any code; and what stands for one that is not computed here."""
_OF_CONSTANTS = frozenset(["len", "ord", "int", "float", "sum", "hash", "max", "min", "pow", "abs", "round", "divmod"])
"""What makes a number of constants."""
_ENDLESS = ("inf", "-inf", "nan", "infinity", "-infinity")
_COMPUTED: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.LShift: lambda one, other: one * 2**other, ast.RShift: lambda one, other: one // 2**other,
}  # fmt: skip
_TIMES = re.compile(r"\{\d{0,9},(\d{1,15})\}")
IN_TEXT, MOST_DIGITS = re.compile(r"\d+"), 15


def numbers_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The numbers of a file, and those in its texts, but for long ones: what explains a function is no use of its
    numbers."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                yield NUMBER, hex(value) if isinstance(value, int) else value.hex()
            case ast.Constant(value=str(text)) if len(text) <= LONGEST_TEXT:
                yield from ((NUMBER, hex(one)) for one in numbers_in_text(text))


def known_numbers(known: Set[tuple[str, str]]) -> frozenset[float]:
    """The absolute values of the numbers among known expressions."""
    found = (source for around, source in known if around == NUMBER)
    return frozenset(abs(float.fromhex(one) if "p" in one or "n" in one else int(one, 16)) for one in found)


def numbers_in_text(text: str) -> list[int]:
    return [int(one[:MOST_DIGITS]) for one in IN_TEXT.findall(text)]


def most_times(text: str) -> list[int]:
    """How often a part of a pattern may come (`-{2,3}`): a limit, however small."""
    return [int(one[:MOST_DIGITS]) for one in _TIMES.findall(text)]


def number_of(node: ast.expr, memo: dict[int, float | None]) -> float | None:
    """What an expression of constants alone always is; `UNKNOWN` where it is not computed here.
    `memo`: by `id`, of the nodes that were asked for before. Raises `RecursionError`."""
    if id(node) not in memo:
        memo[id(node)] = _number(node, memo)
    return memo[id(node)]


def _number(node: ast.expr, memo: dict[int, float | None]) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.NamedExpr(value=value):
            return number_of(value, memo)
        case ast.UnaryOp(op=op, operand=operand):
            inner = number_of(operand, memo)
            return -inner if inner is not None and isinstance(op, ast.USub) else inner
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _operand(left, memo), _operand(right, memo)
            return None if one is None or other is None else _computed(op, one, other)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]) if text.lower() in _ENDLESS:
            return None
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args) if name in _OF_CONSTANTS:
            return UNKNOWN if all(_is_constant(one, memo) for one in args) else None
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=int() | float()))):
            return UNKNOWN
    return None


def _operand(node: ast.expr, memo: dict[int, float | None]) -> float | None:
    return (
        float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, bool) else number_of(node, memo)
    )


def _is_constant(node: ast.expr, memo: dict[int, float | None]) -> bool:
    """Whether it is made of constants alone, in a few steps."""
    match node:
        case ast.Constant():
            return True
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return all(isinstance(one, ast.Constant) for one in items)
        case ast.BinOp(left=left, right=right):
            return isinstance(right, ast.Constant) and _is_constant(left, memo)
    return number_of(node, memo) is not None


def _computed(op: ast.operator, one: float, other: float) -> float:
    try:
        return float(_COMPUTED[type(op)](float(one), float(other)))
    except (KeyError, ArithmeticError, TypeError):
        return UNKNOWN
