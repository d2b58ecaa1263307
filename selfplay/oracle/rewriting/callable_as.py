"""Whether a function can be called in each way in which another can, and takes each argument as that one does."""

import ast
from itertools import zip_longest

Taken = tuple[str, ast.expr | None]
"""The name under which an argument may be given (none if only by its place), and its default."""


def takes_as(one: ast.arguments, other: ast.arguments) -> bool:
    """Whether `one` takes what `other` takes, in the same places, under the same names, with the same defaults; what it
    takes beyond that must have a default."""
    mine, theirs = _by_place(one), _by_place(other)
    if len(mine) < len(theirs):
        return False
    for (name, default), (asked, usual) in zip(mine, theirs, strict=False):
        if (asked and name != asked) or not _is_default(default, usual):
            return False
    further = {f"{name or at}": default for at, (name, default) in enumerate([*mine[len(theirs) :], *_by_name(one)])}
    for name, usual in _by_name(other):
        if name not in further or not _is_default(further.pop(name), usual):
            return False
    rest = (other.vararg is None or one.vararg is not None) and (other.kwarg is None or one.kwarg is not None)
    return rest and all(default is not None for default in further.values())


def _by_place(given: ast.arguments) -> list[Taken]:
    names = [*("" for _ in given.posonlyargs), *(one.arg for one in given.args)]
    pairs = zip_longest(reversed(names), reversed(given.defaults))
    return [(name, default) for name, default in pairs][::-1]


def _by_name(given: ast.arguments) -> list[Taken]:
    return [(one.arg, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]


def _is_default(default: ast.expr | None, usual: ast.expr | None) -> bool:
    """Whether a default may stand for the usual one. An argument that had to be given may have any; what is written
    otherwise (`math.inf`, `float("inf")`) may be the same, and calls without the argument tell."""
    if usual is None or default is None:
        return usual is None
    return not (isinstance(default, ast.Constant) and isinstance(usual, ast.Constant)) or default.value == usual.value
