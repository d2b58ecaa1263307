"""Expressions that are True or False, of which only the truth is asked, or that are the same wherever they stand."""

import ast

_TRUTHS = frozenset(
    ["isinstance", "issubclass", "callable", "hasattr", "any", "all", "bool", "startswith", "endswith", "isdisjoint",
     "issubset", "issuperset", "isalpha", "isalnum", "isdigit", "isspace", "isupper", "islower", "isidentifier"]
)  # fmt: skip
"""Functions and methods that answer True or False."""
_PURE = frozenset(["float", "int", "ord", "chr", "len", "str", "bytes", "complex", "abs", "round", "bool"])
_OF_CONSTANTS = frozenset(["errno", "math", "string", "re", "stat", "http", "os", "sys"])


def for_truth(statement: ast.stmt) -> set[int]:
    """The `id` of each expression of which only the truth is asked; that it may be true and false has parts of its own.
    (A match that is there is as true as any other object, so that its first value would be no other.)"""
    found, left = set[int](), list[ast.AST]()
    for one in ast.walk(statement):
        left += [one.test] if isinstance(one, ast.If | ast.While | ast.IfExp) else []
        left += one.ifs if isinstance(one, ast.comprehension) else []
        left += [one.operand] if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not) else []
    while left:
        one = left.pop()
        found.add(id(one))
        left += one.values if isinstance(one, ast.BoolOp) else []
    return found


def is_named_constant(node: ast.Name | ast.Attribute) -> bool:
    """Whether it is a constant by its name: ten times as much of it is another number."""
    return (node.id if isinstance(node, ast.Name) else node.attr).isupper()


def is_constant(node: ast.expr) -> bool:
    """Whether it is the same wherever it stands: made of constants alone (`float("inf")`), or a module's constant, by
    its name (`errno.ENOENT`, `string.digits`)."""
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return name.isupper() or module in _OF_CONSTANTS
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _PURE:
            return all(map(is_constant, args))
    return not any(isinstance(one, ast.Name) for one in ast.walk(node))


def is_truth(node: ast.expr) -> bool:
    """Whether it is True or False, wherever it stands."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _TRUTHS
    return False
