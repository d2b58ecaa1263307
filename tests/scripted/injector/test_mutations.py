"""Mutations of subtle logic, and parts of expressions left out: derived outcomes of each kind."""

import ast

import pytest

from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import apply_cuts
from selfplay.scripted.edits.names import outermost_functions
from selfplay.scripted.injector.mutations import subtle_cuts
from selfplay.scripted.injector.trims import trims


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("x = list(a)", ["x = a"]),
        ("x = a.copy()", ["x = a"]),
        ("x = 'é', a[:]", ["x = 'é', a"]),
        ("x = copy.deepcopy(self.a)", ["x = self.a"]),
        ("d.get(a, 1)", ["d.get(a)"]),
        ("range(1, len(a))", ["range(1, len(a) - 1)"]),
        ("a.startswith('x')", ["a.endswith('x')"]),
        ("a.rsplit(b, 1)", ["a.split(b, 1)"]),
        ("min(a, b)", ["max(a, b)"]),
        ("self.n += a", ["self.n = a"]),
        ("raise ValueError('no')", ["raise TypeError('no')"]),
        ("a.encode('utf-8')", ["a.encode('latin-1')"]),
        ("a[1:]", []),
        ("any(a)", ["all(a)"]),
        ("list(a, b)", []),
        ("f'utf-8'", []),
    ],
)
def test_mutations(line: str, after: list[str]) -> None:
    assert [one.split("\n")[1].strip() for one in made(line, subtle_cuts)] == after


def test_defaults_and_handlers() -> None:
    text = "def f(a=True, *, n=1, s='x'):\n    try:\n        a()\n    except (KeyError, E):\n        pass\n"
    (function,) = outermost_functions(ast.parse(text))
    found = [apply_cuts(text, [cut]) for cut in subtle_cuts(function, split_lines(text))]
    assert found == [
        text.replace("True", "False"),
        text.replace("n=1", "n=2"),
        text.replace("(KeyError, E)", "KeyError"),
    ]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("return a and b == 1", ["return a", "return b == 1"]),
        ("x = (a or 'y').strip()", ["x = a.strip()", "x = 'y'.strip()", "x = (a or 'y')"]),
        ("return a + 1 if b else c", ["return (a + 1)"]),
        ("return [x for x in a if x > b]", ["return [x for x in a]"]),
        ("return f(a, key=b, rev=c)", ["return f(a, rev=c)", "return f(a, key=b)"]),
        ("return f(key=b)", []),
        ("return a.strip(b)", []),
    ],
)
def test_parts_left_out(line: str, after: list[str]) -> None:
    assert sorted(one.split("\n")[1].strip() for one in made(line, trims)) == sorted(after)


def made(line: str, cuts: object) -> list[str]:
    """What a function of this line becomes, by each cut; each is a program."""
    text = f"def f(a, b, c):\n    {line}\n"
    (function,) = outermost_functions(ast.parse(text))
    found = [apply_cuts(text, [cut]) for cut in cuts(function, split_lines(text))]  # type: ignore[operator]
    for after in found:
        ast.parse(after)
    return found
