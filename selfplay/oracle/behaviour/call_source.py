"""Calls as source: what is called, and where its inputs are."""

import ast
from collections.abc import Iterator

from selfplay.python_source import short_expression

NAMED = (ast.Lambda, ast.Name, ast.Attribute)
"""What may be a function that a call is given."""


def target_of(source: str) -> str:
    """The name of the called function, as far as the source shows it: `m.Parser.parse` of `m.Parser(1).parse('a')`, and
    of the same with a type that derives from `m.Parser`."""
    return name_of(call_tree(source), derived=True)


def give_through(call: ast.Call, helper: str) -> None:
    """Change a call: each function that it is given goes through `helper`, a dotted name."""

    def through(one: ast.expr) -> ast.expr:
        return ast.Call(call_tree(helper), [one], []) if isinstance(one, NAMED) else one

    call.args = [through(one) for one in call.args]
    call.keywords = [ast.keyword(one.arg, through(one.value)) for one in call.keywords]


def name_of(node: ast.expr, *, derived: bool = False) -> str:
    """Like `target_of`, of a tree. `derived`: a type that is made in place, of one of the program's, has the name of
    that one."""
    names = list[str]()
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        base = _base(node) if derived else None
        node = base or getattr(node, "func", None) or getattr(node, "value", None) or ast.Name("")
    return ".".join([node.id, *reversed(names)])


def _base(node: ast.expr) -> ast.expr | None:
    """That of the program's types from which a type that is made in place derives; None for anything else."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_, ast.Tuple(elts=[ast.Attribute() as base, *_]), _]):
            return base
    return None


def call_tree(call: str) -> ast.expr:
    """The call as a new tree: parsing takes a tenth of the time of copying one."""
    return short_expression(call)


Place = tuple[ast.AST, str, int | None]
LARGEST = 10**300
_CLOSED = ("Lambda", "JoinedStr", "TemplateStr")
"""Nodes whose parts are no inputs. By name, since the last one is new in Python 3.14."""


def places(tree: ast.expr) -> Iterator[Place]:
    """Where inputs are: arguments, and items of literal containers; not the called function, and not indices, nor
    what is in a lambda, between the braces of a text, or of a type that is made in place."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        for name in () if _is_closed(node) else ("args", "elts", "keys", "values"):
            for at, one in enumerate(getattr(node, name, ())):
                if _is_input(one):
                    yield node, name, at
                left.append(one)
        if isinstance(node, ast.keyword) and _is_input(node.value):
            yield node, "value", None
        left += [one for one in (getattr(node, "func", None), getattr(node, "value", None)) if isinstance(one, ast.AST)]
        left += getattr(node, "keywords", ())


def _is_closed(node: ast.AST) -> bool:
    """Whether its parts are no inputs; those of a type that is made in place are its name, bases and methods."""
    return is_type(node) or type(node).__name__ in _CLOSED


def is_type(node: ast.AST) -> bool:
    """Whether it is a type that is made in place."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _is_input(node: ast.AST | None) -> bool:
    """Whether the node is a literal; a negative number counts too."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict)


def inputs_of(tree: ast.expr) -> Iterator[ast.expr]:
    for parent, name, at in places(tree):
        yield get_input(parent, name, at)


def get_input(parent: ast.AST, name: str, at: int | None) -> ast.expr:
    found: ast.expr = getattr(parent, name) if at is None else getattr(parent, name)[at]
    return found


def set_input(parent: ast.AST, name: str, at: int | None, new: ast.expr) -> None:
    if at is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[at] = new


def value_of(node: ast.expr) -> object:
    """The constant of a node, or the node itself if it has none, or one that is too large to be changed."""
    if isinstance(node, ast.UnaryOp):
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        changing = isinstance(node.op, ast.USub) and not _is_large(number)
        return -number if changing and isinstance(number, int | float) else node
    return node.value if isinstance(node, ast.Constant) and not _is_large(node.value) else node


def _is_large(value: object) -> bool:
    """Whether it may not be made larger and written: Python writes no whole number of thousands of digits."""
    return isinstance(value, int | float) and not abs(value) < LARGEST


def constant(value: object) -> ast.expr:
    return short_expression(repr(value))
