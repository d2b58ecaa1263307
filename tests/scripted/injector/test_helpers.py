import ast
from textwrap import dedent

import pytest

from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import Cut, apply_cuts
from selfplay.scripted.edits.names import Function, outermost_functions
from selfplay.scripted.injector.helpers import helper_cuts, override_cuts
from selfplay.scripted.injector.index import Index


def named(text: str, name: str) -> tuple[ast.Module, Function]:
    tree = ast.parse(text)
    return tree, next(function for function in outermost_functions(tree) if function.name == name)


def helped(source: str, others: dict[str, str] | None = None) -> str | None:
    """The file without its function `helper`, None when it has to stay."""
    text = dedent(source).lstrip("\n")
    tree, function = named(text, "helper")
    texts = {"a.py": text, **(others or {})}
    cuts: list[Cut] = helper_cuts("a.py", function, Index(texts, {"a.py": tree}), split_lines(text))
    return apply_cuts(text, cuts) if cuts else None


SOURCE = """
# What helps.
def helper(text, deep=False):
    return text.strip()


def f(größe, b):
    x = ("é", helper(größe), 1)
    return helper(
        größe + b,
        deep=True,
    ) or x
"""


def test_a_helper_goes_and_its_calls_become_their_first_argument() -> None:
    assert helped(SOURCE) == 'def f(größe, b):\n    x = ("é", größe, 1)\n    return (größe + b) or x\n'


@pytest.mark.parametrize(
    "source",
    [
        "def helper(a):\n    return a\n\nf = helper\n",  # taken, not called
        "def helper():\n    return 1\n\nf = helper()\n",  # nothing to stand in
        "def helper(a):\n    return a\n\nf = helper(*g)\n",
        "def helper(a):\n    return a\n\nf = helper(helper(1))\n",  # one call inside another
        "@cache\ndef helper(a):\n    return a\n\nf = helper(1)\n",
        "class A:\n    def helper(a):\n        return a\n\nf = helper(1)\n",
        "def helper(a):\n    return a\n\n__all__ = ['helper']\nf = helper(1)\n",
        "def helper(a):\n    return a\n",  # nobody calls it
    ],
)
def test_a_helper_used_in_any_other_way_stays(source: str) -> None:
    assert helped(source) is None


def test_a_helper_another_file_names_stays() -> None:
    assert helped(SOURCE, {"b.py": "from a import helper\n"}) is None
    assert helped(SOURCE, {"b.py": "from a import helpers\n"}) is not None


BASE = "class Base:\n    def f(self):\n        return 1\n"
CHILD = "class Child(a.Base):\n    x = 1\n\n    # why\n    @property\n    def f(self):\n        return 2\n\n    y = 2\n"


def overridden(child: str, base: str = BASE) -> list[str]:
    tree, function = named(child, "f")
    trees = {"a.py": ast.parse(base), "b.py": tree}
    return [apply_cuts(child, [cut]) for cut in override_cuts(function, Index({}, trees), split_lines(child))]


def test_an_override_goes_with_its_decorators_and_comments() -> None:
    assert overridden(CHILD) == ["class Child(a.Base):\n    x = 1\n\n    y = 2\n"]


@pytest.mark.parametrize(
    ("child", "base"),
    [
        (CHILD, BASE.replace("def f", "def g")),
        (CHILD.replace("a.Base", "Other"), BASE),
        ("class Child(Base):\n    def f(self):\n        return 2\n", BASE),  # the class would be empty
        ("def f():\n    return 2\n", BASE),
    ],
)
def test_a_method_that_overrides_nothing_stays(child: str, base: str) -> None:
    assert overridden(child, base) == []


def test_a_method_stays_where_the_one_below_it_only_refuses() -> None:
    refuses = BASE.replace("return 1", "raise NotImplementedError")
    assert overridden(CHILD, refuses) == []
    assert overridden(CHILD.replace("return 2", "self.y = 2"), refuses) == []
    assert len(overridden(CHILD.replace("return 2", "self.y = 2"), BASE.replace("return 1", "self.y = 1"))) == 1
    assert len(overridden(CHILD, BASE.replace("return 1", "yield 1"))) == 1
