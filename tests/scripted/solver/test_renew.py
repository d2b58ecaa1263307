"""New source in a running process: what others hold of a module behaves as the new source says."""

import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

BEFORE = """import functools
LIMIT = 3
_len = len

def len(x):
    return _len(x)

def plain(x):
    return x + 1

@functools.lru_cache
def cached(x):
    return x + 1

class Base:
    def who(self):
        return "base"

class Slotted(Base):
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def who(self):
        return super().who() + "!"

    @property
    def half(self):
        return self.value // 2

    @classmethod
    def made(cls):
        return cls(1)

def outer():
    def inner(x):
        return x + LIMIT
    return inner

held = outer()
"""
CASES = {
    "a function": ("return x + 1\n\n@", "return x + 10\n\n@", "plain(1) == 11"),
    "a cached function": ("def cached(x):\n    return x + 1", "def cached(x):\n    return x + 10", "cached(1) == 11"),
    "a method that calls super": ('who() + "!"', 'who() + "?"', "one.who() == 'base?'"),
    "a method that now calls super": (
        '        return "base"',
        "        return super().__class__.__name__",
        "one.who()",
    ),
    "a property of a class with slots": ("self.value // 2", "self.value // 3", "one.half == 3"),
    "a class method": ("return cls(1)", "return cls(7)", "Slotted.made().value == 7"),
    "a constant": ("LIMIT = 3", "LIMIT = 5", "outer()(0) == 5 and one.value == 9"),
    "a new method": (
        "    @property\n",
        "    def new(self):\n        return self.value\n\n    @property\n",
        "one.new() == 9",
    ),
    "a function with a function in it": ("return x + LIMIT", "return x - LIMIT", "outer()(0) == -3"),
    "a name of Python's own": (
        "return _len(x)",
        "return _len(x) + 1",
        "shop.len('a') == 2 and __builtins__.len('a') == 1",
    ),
}
RUN = """
import sys
import shop, user
from shop import *
from shop import cached
one = Slotted(9)
import selfplay_renew
before, after = open("shop.py").read(), open("after.py").read()
start, end, lines = eval(sys.argv[1])
load = selfplay_renew.loader({"shop.py": before}, {"shop.py": after}, [["shop.py", start, end, lines]])
load()
plain, cached, outer = user.plain, user.cached, user.outer
assert isinstance(one, shop.Slotted)
assert %s
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str, str, str], str]:
    source = resources.files("selfplay.scripted.solver.inside").joinpath("selfplay_renew.py").read_text()

    def make(old: str, new: str, wanted: str) -> str:
        assert BEFORE.count(old) == 1
        after = BEFORE.replace(old, new)
        start, end = BEFORE[: BEFORE.index(old)].count("\n") + 1, BEFORE[: BEFORE.index(old) + len(old)].count("\n") + 1
        lines = after.split("\n")[start - 1 : end + new.count("\n") - old.count("\n")]
        texts = {"selfplay_renew.py": source, "shop.py": BEFORE, "after.py": after, "run.py": RUN % wanted}
        for name, text in {**texts, "user.py": "from shop import plain, cached, outer\n"}.items():
            (tmp_path / name).write_text(text)
        command = [sys.executable, "run.py", repr((start, end, lines))]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30).stderr

    return make


@pytest.mark.parametrize("case", CASES)
def test_what_others_hold_is_renewed(run: Callable[[str, str, str], str], case: str) -> None:
    assert run(*CASES[case]) == ""
