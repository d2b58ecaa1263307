"""Makes every assertion in Python tests false: the expected value becomes another value of the same kind.

The other value is near the right one, in a random variant. So an object that equals every value of its type, or every
value that differs in case, in white space or by one, equals some of these values and is found out.
"""

import ast
import secrets
from collections.abc import Sequence

from selfplay.oracle.rewriting.python_trees import loaded
from selfplay.oracle.rewriting.secret_names import secret_name
from selfplay.oracle.rewriting.variants import FAR
from selfplay.python_source import syntax_tree

VARIANTS = 7
"""How the other value differs: longer, changed in one place, in case, in white space, at its end, shorter, in order."""
CASES = 2
RAISES = ("raises", "assertRaises", "assertRaisesRegex")
_UNLIKELY = (
    "BlockingIOError", "BufferError", "ChildProcessError", "EOFError", "InterruptedError", "MemoryError",
    "ProcessLookupError", "ReferenceError", "StopAsyncIteration",
)  # fmt: skip


def other_value(name: str, known: Sequence[str]) -> str:
    """Source of a function `name(value, variant)` that returns another value of the same kind. It must not change
    `value`, even if a copy of it is the object itself or shares its attributes, because other tests use it too."""
    objects = f"_{secret_name(known, name)}"
    word, number, place = secret_name(known), 2 + secrets.randbelow(90), secrets.randbelow(1000)
    return f"""

def {name}(value, variant):
    kind = type(value)
    if kind is bool:
        return not value
    if isinstance(value, (int, float, complex)):
        step = 1 if isinstance(value, int) else (abs(value) or 1) / 8
        return value + ({number}, step, -step, 2 * step, step, -step, -2 * step)[variant]
    if kind is bytes or kind is bytearray:
        return kind({name}(value.decode("latin-1"), variant).encode("latin-1", "replace"))
    if isinstance(value, str):
        at = {place} % (len(value) or 1)
        found = (
            value + {word!r},
            value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1:] if value else "x",
            value.swapcase(),
            value.replace(" ", "  ") if " " in value else " ".join(value),
            value[:-1] if value[-1:].isspace() else value + "\\n",
            value[:-1],
            value[::-1],
        )
        return found[variant] if found[variant] != value else found[1]
    if kind in (list, tuple):
        at = {place} % (len(value) or 1)
        one = (*value[:at], {name}(value[at], variant), *value[at + 1:]) if value else ({word!r},)
        found = ((*value, {word!r}), one, one, one, one, value[:-1], value[::-1])[variant]
        return kind(found if kind(found) != value else one)
    if kind is dict:
        one = {{key: {name}(inner, variant) for key, inner in value.items()}}
        return one if variant and value else dict(value, **{{{word!r}: {number}}})
    if kind in (set, frozenset):
        return kind([*value][1:]) if variant % 2 and value else value | {{{word!r}}}
    return {objects}(value, variant)
{_other_object(objects, name)}"""


def _other_object(name: str, other: str) -> str:
    """Source of the same for any other object; `other`: the function for its attributes."""
    return f"""

def {name}(value, variant):
    import copy
    try:
        found = copy.copy(value)
        if vars(found) is vars(value):
            return object()
        vars(found).update({{key: {other}(inner, variant) for key, inner in vars(value).items() if inner is not value}})
        return found if variant and vars(found) else object()
    except Exception:
        return object()

"""


def falsified(source: str, other: str, variant: int) -> str:
    """The test function with one random assertion made false; empty if none is recognised.

    Only one, because otherwise an earlier one would fail first and a later one might never run. `other`: the function
    that returns another value of the same kind; `variant`: how it differs, for assertions of equality."""
    try:
        counting = _Claims(other, variant, -1)
        counting.visit(syntax_tree(source))
        if not counting.found:
            return ""
        changed = _Claims(other, variant, secrets.randbelow(counting.found)).visit(syntax_tree(source))
        return ast.unparse(ast.fix_missing_locations(changed)) + "\n"
    except (SyntaxError, ValueError, RecursionError):
        return ""


def with_few_cases(source: str) -> str:
    """The test function with only `CASES` cases of each literal list with which it is parametrised: reporting each
    failing case is costly, and one shows as much as thirty."""
    try:
        tree = syntax_tree(source)
        for function in ast.walk(tree):
            for decorator in getattr(function, "decorator_list", []):
                if _name(decorator) == "parametrize" and len(decorator.args) == 2 and not decorator.keywords:
                    cases = decorator.args[1]
                    if isinstance(cases, ast.List | ast.Tuple) and len(cases.elts) > CASES:
                        cases.elts = secrets.SystemRandom().sample(cases.elts, CASES)
        return ast.unparse(tree) + "\n"
    except (SyntaxError, ValueError, RecursionError):
        return source


class _Claims(ast.NodeTransformer):
    """Makes assertion number `which` false: another expected value of the same kind, its negation, or an exception that
    is never raised. Counts all assertions."""

    def __init__(self, other: str, variant: int, which: int) -> None:
        self.found = 0
        self._other, self._variant, self._which = other, variant, which

    def _mine(self) -> bool:
        """Count one more assertion; returns whether it is the one to change."""
        self.found += 1
        return self.found - 1 == self._which

    def _another(self, value: ast.expr, variant: int) -> ast.expr:
        return ast.Call(loaded(self._other), [value, ast.Constant(variant)], [])

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if not self._mine():
            return node
        claim = node.test
        if not isinstance(claim, ast.Compare) or len(claim.ops) != 1:
            node.test = ast.UnaryOp(ast.Not(), claim)
        elif isinstance(claim.ops[0], ast.In):  # a near value may be in it too
            claim.left = self._another(claim.left, FAR)
        elif isinstance(claim.ops[0], ast.Eq | ast.Is):
            if _literal(claim.left):
                claim.left = self._another(claim.left, self._variant)
            else:
                claim.comparators[0] = self._another(claim.comparators[0], self._variant)
        else:
            node.test = ast.UnaryOp(ast.Not(), claim)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        """A block that must raise: empty its body, or expect another exception."""
        if self._variant % 2 and any(_name(item.context_expr) in RAISES for item in node.items):
            if self._mine():
                node.body = [ast.Pass()]
            return node
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = _name(node)
        if not node.args or not (name.startswith("assert") or name == "raises"):
            return node
        if not self._mine():
            return node
        if name in RAISES:
            node.args[0] = loaded(secrets.choice(_UNLIKELY))
        elif name in ("assertTrue", "assertFalse"):
            node.args[0] = ast.UnaryOp(ast.Not(), node.args[0])
        else:
            at = 0 if len(node.args) == 1 or name == "assertIn" or _literal(node.args[0]) else 1
            node.args[at] = self._another(node.args[at], self._variant if _of_equality(name) else FAR)
        return node


def _name(node: ast.expr) -> str:
    """The called name, without the object before the dot."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _of_equality(name: str) -> bool:
    return "equal" in name.lower() and not any(word in name.lower() for word in ("not", "almost", "less", "greater"))


def _literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True
