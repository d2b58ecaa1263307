"""Python sources of any length, of one shape each: what a stranger writes to make a reader of trees compare everything
with everything. A reader takes time in proportion to their length."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

LEVELS = 18
"""Definitions inside each other; Python's indentation makes deeper ones long."""


@dataclass(frozen=True)
class Shape:
    """`make(n)`: a source with n of the part that is repeated."""

    name: str
    make: Callable[[int], str]

    def text(self, size: int) -> str:
        part = (len(self.make(300)) - len(self.make(200))) / 100
        return self.make(max(1, int(size / part)))

    def __str__(self) -> str:
        return self.name


def _lines(line: str) -> Callable[[int], str]:
    return lambda n: "".join(line.format(i=i, j=i + 1) for i in range(n))


def _body(line: str) -> Callable[[int], str]:
    """A function with n such lines."""
    return lambda n: f"def f(self, a):\n{_lines(f'    {line}' + chr(10))(n)}    return a\n"


def _listed(before: str, part: str, after: str, between: str = ", ") -> Callable[[int], str]:
    return lambda n: before + between.join(part.format(i=i) for i in range(n)) + after


OF_MODULES = {
    "functions": "def f{i}(a, b=1):\n    return a + b\n",
    "functions of one name": "def f(a, b=1):\n    return a + {i}\n",
    "methods of one class each": "class C{j}(C{i}):\n    x = {i}\n    def m(self): return self.x\n",
    "names, each the one before": "x{j} = x{i}\n",
    "imports": "import m{i}\n",
    "imports of names": "from m{i} import n{i} as o{i}\n",
    "expressions": "g({i})\n",
    "annotated names": "x{i}: int = {i}\n",
    "decorated functions": "@d{i}\ndef f(a): return a\n",
}
OF_FUNCTIONS = {
    "equal lines": "a += 1",
    "calls": "g(a, {i})",
    "globals": "global g{i}\n    g{i} = a",
    "a chain of names": "x{j} = x{i}.b",
    "tries": "try:\n        a{i} = g(a)\n    except E{i}:\n        pass",
    "comprehensions": "a = [x for x in a if x != {i}]",
    "lambdas": "a = (lambda x: x + {i})(a)",
    "items": "a[{i}] = a[{j}]",
    "attributes": "self.x{i} = self.x{j}.y",
    "f-strings": "b = f'{{a}} {i}'",
    "walruses": "if (x{i} := a) == {i}: return x{i}",
    "yields": "yield a + {i}",
    "deletions": "x{i} = a; del x{i}",
    "assertions": "assert g(a, {i}) == {i}",
    "comparisons of an option": "if a == {i}: pass",
}
OF_LISTS = {
    "a dictionary": ("def f(a):\n    return {", "{i}: a", "}\n", ", "),
    "a call": ("def f(a):\n    return g(", "a{i}", ")\n", ", "),
    "a call by names": ("def f(a):\n    return g(", "k{i}=a", ")\n", ", "),
    "texts": ("def f(a):\n    return [", "'w{i}'", "]\n", ", "),
    "conditions": ("def f(a):\n    return ", "a == {i}", "\n", " or "),
    "comparisons": ("def f(a):\n    return ", "a{i}", "\n", " < "),
    "numbers of a module": ("T = [", "{i}", "]\n\n\ndef f(a): return T[a]\n", ", "),
    "parameters": ("def f(", "a{i}={i}", "):\n    return a0\n", ", "),
    "bases": ("class A: pass\n\n\nclass B(", "A", "):\n    def f(self, a): return a\n", ", "),
}


def _used_parameters(n: int) -> str:
    return _listed("def f(", "a{i}={i}", "):\n    return ")(n) + _listed("", "a{i}", "\n", " or ")(n)


def _nested(inner: str) -> Callable[[int], str]:
    """n lines inside of definitions inside each other."""
    heads = "".join(f"{'    ' * level}def f{level}(a):\n" for level in range(LEVELS))
    return lambda n: heads + _lines(f"{'    ' * LEVELS}{inner}\n")(n)


def shapes() -> Iterator[Shape]:
    yield from (Shape(name, _lines(line)) for name, line in OF_MODULES.items())
    yield from (Shape(name, _body(line)) for name, line in OF_FUNCTIONS.items())
    yield from (Shape(name, _listed(*parts)) for name, parts in OF_LISTS.items())
    yield Shape("parameters that are used", _used_parameters)
    yield Shape("lines in nested functions", _nested("x{i} = a"))
    yield Shape("functions in nested functions", _nested("def g{i}(b): return a"))
