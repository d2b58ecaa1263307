import ast
from textwrap import dedent

import pytest

from selfplay.scripted.edits.names import CodeNames, Function, bound_by, parameters


def function(source: str) -> Function:
    found = ast.parse(dedent(source).strip()).body[0]
    assert isinstance(found, Function)
    return found


def test_parameters_in_order_with_the_star_ones_last() -> None:
    assert parameters(function("def f(a, /, b, *c, d=1, **e): pass")) == ["a", "b", "d", "c", "e"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f():\n    x = 1\n    return x", {"x"}),
        ("def f():\n    a, (b, *c) = z", {"a", "b", "c"}),
        ("def f():\n    import os.path, json as j\n    from a import b as c", {"os", "j", "c"}),
        ("def f():\n    with a as b: pass\n    for c in d: pass", {"b", "c"}),
        ("def f():\n    try: pass\n    except E as e: pass", {"e"}),
        ("def f():\n    if (m := g()): pass", {"m"}),
        ("def f():\n    match x:\n        case {'a': a, **rest}: pass\n        case [b, *c] as d: pass",
         {"a", "rest", "b", "c", "d"}),
        ("def f():\n    def g(): pass\n    class C: pass", {"g", "C"}),
        ("def f():\n    return [y := x for x in z]", {"y"}),
        ("async def f():\n    async for größe in z: pass", {"größe"}),
    ],
)  # fmt: skip
def test_names_a_function_binds(source: str, names: set[str]) -> None:
    assert {name for name, lines in CodeNames(function(source)).bound.items() if lines} == names


def test_one_node_binds_only_what_it_names_itself() -> None:
    assert bound_by(ast.parse("x = y = 1").body[0]) == set()


MISSES = """
def f(given):
    x = given          # 2
    y = [x for x in given]  # 3
    x = 5              # 4
    given = x          # 5
    if x:              # 6
        z = 1          # 7
    return z, given    # 8
"""


@pytest.mark.parametrize(
    ("start", "end", "missed"),
    [
        (2, 2, True),  # nothing before binds x, line 5 reads it
        (4, 4, False),  # line 2 binds it
        (2, 4, True),  # both bindings go; the comprehension's x is its own
        (3, 3, False),  # y is not read
        (5, 5, False),  # a parameter is always there
        (7, 7, True),
        (6, 8, False),  # what reads z goes with it
    ],
)
def test_a_cut_misses_a_name_the_rest_reads_and_nothing_before_binds(start: int, end: int, missed: bool) -> None:
    assert CodeNames(function(MISSES)).miss(start, end) is missed


def test_a_comprehension_binds_nothing_for_the_lines_after_it() -> None:
    source = "def f(items):\n    a = [x for x in items]\n    x = len(a)\n    return x"
    assert CodeNames(function(source)).miss(3, 3)


def test_a_generator_keeps_a_yield() -> None:
    names = CodeNames(function("def f():\n    yield 1\n    yield 2\n    return"))
    assert names.miss(2, 3) and not names.miss(2, 2) and not names.miss(4, 4)
