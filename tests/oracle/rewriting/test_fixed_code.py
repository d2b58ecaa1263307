"""What is new and cannot be taken away while the program runs."""

import ast

import pytest

from selfplay.oracle.rewriting.fixed_code import fixed_code


def fixed(text: str) -> list[str]:
    tree = ast.parse(text)
    return list(fixed_code(tree, set(range(1, 99))))


@pytest.mark.parametrize("text", [
    "X = 1\n", "X = -1\n", "X: int = 3\n", "X = other\n", "X = a.b\n", "Z = ()\n", "X = object()\n",
    "import re\nX = re.compile('a+', flags=0)\n", "from __future__ import annotations\n", "import os\nX = os\n",
    "def f(x, y=1, *, z=None, w=Y):\n    return lambda a=x: a\n", "class A:\n    x = 1\n",
    "def f(x):\n    raise ValueError(f'{x!r} is {type(x).__name__}, not {len(x)}')\n", "def f(x):\n    raise\n",
    "def f(x):\n    raise Own('{} of {}'.format(x.a, x[1]), code=3) from x\n",
    "def f(x):\n    raise type(x)(x)\n", "def f(x):\n    raise x.errors.Missing(x)\n",
    "def f(x):\n    raise KeyError(', '.join(sorted(x)))\n", "def f(x):\n    raise KeyError('%s' % (x,))\n",
    "def f(x):\n    assert isinstance(x, int) and len(x.y) > 1, str(x)\n",
    "def f(x):\n    t = (1, 2)\n    return [lambda: t, min(x, 3)]\n",
    "def f(x):\n    match x:\n        case 1:\n            return 2\n",
    "def f(x):\n    try:\n        g(x)\n    finally:\n        x.close()\n",
    "def f(x):\n    @functools.wraps(x)\n    def g(y: int) -> list[int]:\n        return y\n    return g\n",
    "def f(x):\n    '''At most 100.'''\n    raise ValueError('not 1 to 100') from x\n",
    "@property\ndef f(x: g(1)):\n    match x:\n        case 1:\n            g()\n        case y:\n            g(y)\n",
])  # fmt: skip
def test_what_may_stand_there(text: str) -> None:
    assert fixed(text) == []


@pytest.mark.parametrize(("text", "said"), [
    ("X = (1, 2)\n", "`X = (1, 2)` is more than a plain value outside of functions"),
    ("f = lambda x: x[:40]\n", "`f = lambda x: x[:40]` is more than a plain value outside of functions"),
    ("class A:\n    x = {1: 2}\n", "`x = {1: 2}` could keep something from one call to the next"),
    ("X = []\n", "`X = []` could keep something from one call to the next"),
    ("X = dict.fromkeys(())\n", "`X = dict.fromkeys(())` could keep something from one call to the next"),
    ("X = collections.deque(maxlen=1)\n",
     "`X = collections.deque(maxlen=1)` could keep something from one call to the next"),
    ("def f(x):\n    try:\n        g(x)\n    except TypeError.__mro__[:3]:\n        pass\n",
     "`TypeError.__mro__[:3]` is no list of kinds of errors, by name"),
    ("def f(x):\n    try:\n        g(x)\n    except (*KINDS, KeyError):\n        pass\n",
     "`(*KINDS, KeyError)` is no list of kinds of errors, by name"),
    ("if 1:\n    X = 1 + 2\n", "`X = 1 + 2` is more than a plain value outside of functions"),
    ("X = frozenset([1])\n", "`X = frozenset([1])` is more than a plain value outside of functions"),
    ("import this\n", "`import this` is imported and not used"),
    ("from a import b as c\nb\n", "`from a import b as c` is imported and not used"),
    ("def f(x):\n    global y\n", "`global y` binds a name elsewhere"),
    ("def f(x):\n    def g(y=min(x, 3)):\n        pass\n", "`min(x, 3)` is no plain default"),
    ("def f(x):\n    def g(*y, call=x):\n        return call(*y)\n    return g\n",
     "`x` is held as the default of an inner function's argument"),
    ("f = g(lambda y=[1]: y)\n", "`[1]` is no plain default"),
    ("def f(x):\n    return re.sub('-{2,3}', '', x)\n", "3, in a text, is a number that the program does not have"),
    ("def f(x):\n    raise (OSError, x.clear())[0](x)\n", "`(OSError, x.clear())[0]` runs code for what is raised"),
    ("def f(x):\n    raise LookupError(x.clear())\n", "`x.clear()` runs code for what is raised"),
    ("def f(x):\n    raise LookupError(f'{x.pop()}')\n", "`f'{x.pop()}'` runs code for what is raised"),
    ("def f(x):\n    raise LookupError(y := 1)\n", "`y := 1` runs code for what is raised"),
    ("def repr(x):\n    raise LookupError(repr(x))\n", "`repr(x)` runs code for what is raised"),
    ("def f(x):\n    assert x.append(1) is None\n",
     "`x.append(1) is None` runs code for an assertion, which may be left out (`python -O`)"),
    ("def f(x):\n    match x:\n        case 1 | 2:\n            return 2\n", "`1 | 2` is one of several patterns"),
    ("def f(x):\n    try:\n        g(x)\n    finally:\n        return x\n", "`return x` hides errors of any kind"),
    ("def f(x):\n    try:\n        g(x)\n    except* KeyError:\n        pass\n    finally:\n        return x\n",
     "`return x` hides errors of any kind"),
    ("def f(x):\n    for y in x:\n        try:\n            g(x)\n        finally:\n            if y:\n"
     "                break\n", "`break` hides errors of any kind"),
    ("def f(x):\n    with contextlib.suppress(KeyError):\n        g(x)\n",
     "`contextlib.suppress` hides errors of any kind"),
    ("def f(x):\n    from contextlib import suppress as calm\n    with calm(KeyError):\n        g(x)\n",
     "`from contextlib import suppress as calm` hides errors of any kind"),
    ("def f(x):\n    @keeping\n    def g():\n        pass\n", "`keeping` is run where a function makes another one"),
    ("def f(x):\n    def g(y: x.pop()) -> int:\n        pass\n", "`x.pop()` is run where a function makes another one"),
    ("def f(x):\n    match x:\n        case int():\n            return 2\n", "`int()` is a pattern that may not match"),
    ("def f(x):\n    match x:\n        case [y]:\n            return 2\n", "`[y]` is a pattern that may not match"),
    ("def f(x):\n    raise LookupError from x.pop()\n", "`x.pop()` runs code for what is raised"),
    ("def f(x):\n    return '%.64s' % x\n", "64, in a text, is a number that the program does not have"),
    ("MOST = 5000\n", "`5000` is a number that the program does not have"),
    ("class A:\n    most = 5 * 1000\n", "`5 * 1000` is a number that the program does not have"),
    ("def f(x):\n    class A:\n        y = x[:4]\n    return A.y\n", "`class A` is a class that a function makes"),
])  # fmt: skip
def test_what_cannot_be_taken_away(text: str, said: str) -> None:
    assert said.replace("(y := 1)", "y := 1") in [one.replace("(y := 1)", "y := 1") for one in fixed(text)]


def test_only_new_lines_count() -> None:
    tree = ast.parse("X = (1, 2)\nY = (3, 4)\n")
    assert list(fixed_code(tree, {2})) == ["`Y = (3, 4)` is more than a plain value outside of functions"]


@pytest.mark.parametrize("number", [
    "4096", "-4096", "99.5", "0x1000", "2 ** 12", "9 * 9", "4 - -8", "len('twelve chars')", "ord('a')",
    "10 ** 10 ** 10", "int('4096')", "1e300", "10 + 1", "int('9' * 3)", "True << 10",
    "len([0] * 10 * 10)", "(n := 10) ** 3", "pow(9, 1 + 2)", "(9).__mul__(9)", "sum((9, 9, 9))", "int('1' + '0' + '0')",
])  # fmt: skip
def test_a_number_that_the_program_does_not_have(number: str) -> None:
    """Also one that is computed from small ones."""
    text = f"def f(x):\n    return (x + 1) % ({number})\n"
    assert any(one.endswith("is a number that the program does not have") for one in fixed(text))


@pytest.mark.parametrize("number", [
    "3", "-1", "0.5", "True", "2 ** 3", "len(x)", "x * 9", "'9'", "1 + 1", "float('inf')", "'%02d'",
    "len(x[3:])", "int(x)", "set('ab')", "g(1, 'a')",
])  # fmt: skip
def test_small_numbers_and_those_of_the_program_may_stand_there(number: str) -> None:
    assert fixed(f"def f(x):\n    return (x + 1) % ({number})\n") == []
    tree = ast.parse("def f(x):\n    return x[:-255]\n")
    assert list(fixed_code(tree, {2}, frozenset([255.0]))) == []


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("f.last = x", "f.last"), ("SEEN[x] = 1", "SEEN[x]"), ("SEEN[x].y += 1", "SEEN[x].y"),
        ("y = f.__dict__\n    y[x] = 1", "y[x]"), ("for y in SEEN: y.z = 1", "y.z"),
        ("y, z = SEEN[0]\n    y.z = 1", "y.z"),
        ("del SEEN[x]", "SEEN[x]"), ("dict.update(SEEN, x)", "SEEN"),
        ("for SEEN[0] in x: pass", "SEEN[0]"), ("(lambda: 0) or [0 for SEEN[0] in x]", "SEEN[0]"),
        ("def g(y):\n        SEEN[y] = x", "SEEN[y]"),
    ],
)  # fmt: skip
def test_what_is_stored_outside_of_the_call_is_kept(statement: str, place: str) -> None:
    said = f"`{place}` is a place outside of the call, and keeps what is stored there"
    assert said in fixed(f"def f(x):\n    {statement}\n")
    inner = statement.replace("\n", "\n        ")
    assert said in fixed(f"class A:\n    def f(self, x):\n        if x:\n            {inner}\n")


@pytest.mark.parametrize(
    "statement",
    ["x.y = 1", "x[0] = 1", "self.y[x] = 1", "z = {}\n    z[x] = 1", "for z in x: z.y = 1", "make(x).y = 1", "SEEN[x]",
     "def g(y):\n        y.z = x.z = 1", "with x as z: z.y = 1", "def g(): pass\n    g.calls = 0", "super().y = 1",
     "(x or self).y = 1", "(x if x else self).y = 1", "x.append(1)", "x.y.update(self.z)", "[*x].sort()",
     "os.remove(x)",
     "class A: pass\n    A.y = 1", "sorted(x).append(1)", "dict.update(self, x)", "list.append(x, 1)",
     "hashlib.md5().update(x)", "next(PATTERN.finditer(x))"],
)  # fmt: skip
def test_what_is_stored_in_its_own_values_is_not(statement: str) -> None:
    assert not [one for one in fixed(f"import os\ndef f(self, x):\n    {statement}\n") if "keeps" in one]


def test_a_default_that_was_there_may_stay() -> None:
    """Another default of the same line was repaired, and this one was blamed."""
    tree = ast.parse("def f(x, key=lambda one: one, most=None):\n    pass\n")
    assert [*fixed_code(tree, {1})] == ["`lambda one: one` is no plain default"]
    assert [*fixed_code(tree, {1}, known={"lambda one: one"})] == []
