"""Which locals may be read before they are bound, on some path."""

import time

import pytest

from selfplay.believable.unbound import maybe_unbound


def unbound(body: str) -> set[str]:
    """The locals of a function with this body."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return {name.removeprefix("f.") for name in maybe_unbound(f"def f(a, *more, key=1, **rest):\n{lines}")}


@pytest.mark.parametrize("body", [
    "return a, more, key, rest, len", "x = 1\nreturn x", "if a:\n    x = 1\nelse:\n    x = 2\nreturn x",
    "if a:\n    x = 1\nelse:\n    return 0\nreturn x", "if not a:\n    raise KeyError\nelse:\n    x = 1\nreturn x",
    "while True:\n    x = 1\n    if a:\n        break\nreturn x", "for x in a:\n    print(x)",
    "for x in a:\n    break\nelse:\n    x = 1\nreturn x",
    "try:\n    x = 1\nexcept KeyError:\n    x = 2\nreturn x",
    "try:\n    x = 1\nexcept KeyError:\n    return 0\nelse:\n    y = x\nreturn x, y",
    "try:\n    print()\nfinally:\n    x = 1\nreturn x",
    "try:\n    print()\nexcept KeyError as error:\n    print(error)",
    "with a as (x, y):\n    z = x + y\nreturn z", "if (x := a) > 1:\n    return x\nreturn x", "global x\nreturn x",
    "import os.path as x, sys\nreturn x, sys", "def x():\n    return y\nreturn x", "class X:\n    y = 1\nreturn X",
    "return [x for x in a]", "return lambda x: x", "x = y = 1\nx += y\nreturn x", "(x, [*y]) = a\nreturn x, y",
    "match a:\n    case [x, *y]:\n        return x, y\n    case {'k': x, **rest}:\n        return x\n"
    "    case z:\n        return z",
    "match a:\n    case 1:\n        x = 1\n    case _:\n        x = 2\nreturn x",
    "for i in a:\n    if i:\n        x = i\n        break\nelse:\n    return 0\nreturn x",
    "while a:\n    if key:\n        continue\n    x = 1\n    print(x)", "x = 1\ndel x\nx = 2\nreturn x",
])  # fmt: skip
def test_what_is_bound_on_every_path(body: str) -> None:
    assert unbound(body) == set()


@pytest.mark.parametrize(("body", "names"), [
    ("print(x)\nx = 1", {"x"}), ("if a:\n    x = 1\nreturn x", {"x"}), ("x += 1\nreturn x", {"x"}),
    ("if a:\n    x = 1\nelif key:\n    pass\nelse:\n    x = 2\nreturn x", {"x"}),
    ("for i in a:\n    x = i\nreturn x, i", {"x", "i"}), ("while a:\n    x = 1\nreturn x", {"x"}),
    ("while True:\n    if a:\n        break\n    x = 1\nreturn x", {"x"}),
    ("try:\n    x = a()\nexcept KeyError:\n    pass\nreturn x", {"x"}),
    ("try:\n    x = a()\nfinally:\n    print(x)", {"x"}), ("x = 1\ndel x\nreturn x", {"x"}),
    ("match a:\n    case 1:\n        x = 1\nreturn x", {"x"}), ("if a:\n    import os\nreturn os", {"os"}),
    ("return [y for y in x if y]\nx = 1", {"x"}), ("for i in a:\n    print(x)\n    x = i", {"x"}),
    ("with a:\n    if key:\n        x = 1\nreturn x.y", {"x"}),
])  # fmt: skip
def test_what_is_not(body: str, names: set[str]) -> None:
    assert unbound(body) == names


def test_methods_and_functions_in_functions_have_names_of_their_own() -> None:
    text = "class A:\n    def m(self):\n        def inner():\n            print(x)\n            x = 1\n"
    assert maybe_unbound(text) == {"A.m.inner.x"}


def test_a_long_function_costs_in_proportion() -> None:
    """Ten thousand locals, each bound on one path of two; and handlers in handlers."""
    text = "def f(a):\n" + "".join(f"    if a:\n        x{at} = 1\n    print(x{at})\n" for at in range(10_000))
    began = time.process_time()
    assert len(maybe_unbound(text)) == 10_000
    deep = "def f(a):\n" + "".join(f"{' ' * at}try:\n{' ' * at} pass\n{' ' * at}finally:\n" for at in range(1, 90))
    assert maybe_unbound(deep + " " * 91 + "x = 1\n") == frozenset()
    assert time.process_time() - began < 5


def test_functions_of_equal_lines_are_told_apart_by_nothing_else() -> None:
    """What was said of one is kept for its lines; a lone CR, which shifts them for Python alone, keeps nothing."""
    early = "def f(a):\n    print(b)\n    b = a\n"
    late = "def f(a):\n    b = a\n    print(b)\n"
    for text in (early, late, early):
        assert maybe_unbound(text) == (frozenset({"f.b"}) if text == early else frozenset())
    assert maybe_unbound("class C:\n" + "".join(f"    {line}\n" for line in early.splitlines())) == {"C.f.b"}
    for first, second in ((early, late), (late, early)):
        assert maybe_unbound(f"x = 1\r{first}\n{second.replace('f(', 'g(')}") == {"f.b" if first == early else "g.b"}


@pytest.mark.parametrize(("body", "names"), [
    ("x: int\nreturn x", {"x"}), ("x: int\nif a:\n    x = 1\nreturn x", {"x"}), ("x: int = 1\nreturn x", set()),
    ("x: int\nx = 1\nreturn x", set()), ("x = 1\nx: int\nreturn x", set()),
])  # fmt: skip
def test_an_annotation_alone_binds_nothing(body: str, names: set[str]) -> None:
    assert unbound(body) == names
