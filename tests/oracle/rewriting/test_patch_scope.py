"""A patch may change what the bug changed, and add to it; the rest of a file is none of its business."""

import ast

import pytest

from selfplay.oracle.rewriting.callable_as import takes_as
from selfplay.oracle.rewriting.patch_scope import beyond

ORIGINAL = '''"""A shop."""

import re

LIMIT = 9


class Shop:
    """It sells."""

    open = True

    def price(self, thing: str) -> int:
        """In cents."""
        return len(thing) * 100

    def sold(self, thing):
        return thing in self.things


def total(things):
    return sum(things) if things else 0
'''
BUGGY = ORIGINAL.replace(" if things else 0", "")


def changed(*pairs: tuple[str, str], more: dict[str, str] | None = None) -> list[str]:
    """What the original with these changes does beyond the bug."""
    text = ORIGINAL
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return beyond({"shop.py": BUGGY}, {"shop.py": text, **(more or {})}, {"shop.py": ORIGINAL})


@pytest.mark.parametrize(("old", "new"), [
    ("return sum(things) if things else 0", "n = 0\n    for one in things or ():\n        n += one\n    return n"),
    ("def total(things):", "def _own(things):\n    return things\n\n\ndef total(things):"),
    ("def total(things):", "EMPTY = 0\n\n\ndef total(things: list[int]) -> int:"),
    ('"""In cents."""', '"""In whole cents."""'), ("thing: str) -> int:", "thing):"), ("import re", "import os, re"),
    ("return len(thing) * 100", "return len(\n            thing  # by its name\n        ) * 100"),
    ("    def sold", "    def _none(self):\n        return 0\n\n    def sold"),
    ("import re\n",
     "import re\nfrom collections import namedtuple\n\n_NONE = object()\nPair = namedtuple('Pair', 'a b')\n"),
    ("import re\n",
     "import re\n\n_WORD: re.Pattern[str] = re.compile('[a-z]' + '+')\n_BY = {n: [n] for n in range(3)}\n"),
    ("def total(", "def _all(things: 'list[int] | None' = None, *, key=lambda one: str(one).upper()) -> int:\n"
     "    return 1\n\n\ndef total("),
    ("def total(things)", "def total(things: 'list[int]') -> int"),
    ("    def sold",
     "    @property\n    def none(self):\n        return 0\n\n    @none.setter\n    def none(self, x):\n"
     "        pass\n\n    @staticmethod\n    def _one():\n        return 1\n\n    def sold"),
    ("def total(", "import functools\n\n\nclass _Till(Shop):\n    open = False\n\n    @functools.wraps(len)\n"
     "    def price(self, thing):\n        return 1\n\n\ndef total("),
])  # fmt: skip
def test_what_a_repair_does(old: str, new: str) -> None:
    assert changed((old, new)) == []


@pytest.mark.parametrize(("old", "new", "said"), [
    ("len(thing) * 100", "min(len(thing), 40) * 100", "`Shop.price` is changed, which the bug left as it was"),
    ("    def sold", "    @property\n    def sold", "`Shop.sold` is changed, which the bug left as it was"),
    ("LIMIT = 9", "LIMIT = 8", "`LIMIT = 9` is gone, which the bug left as it was"),
    ("def total(", "LIMIT = 8\n\n\ndef total(", "`LIMIT = 8` stands outside of functions"),
    ("def total(", "Shop.sold = Shop.price\n\n\ndef total(", "`Shop.sold = Shop.price` stands outside of functions"),
    ("else 0\n", "else 0\n\n\nif LIMIT:\n    total = sum\n", "`if LIMIT: total = sum` stands outside of functions"),
    ("else 0\n", "else 0\n\n\nW = total([])\n", "`W = total([])` runs code while the module is loaded"),
    ("else 0\n", "else 0\n\n\nW = setattr(Shop, 'sold', id)\n", "`W = setattr(Shop, 'sold', id)` runs code while"),
    ("def total(things)", "def total(stock)", "the signature of `total` is changed, which the bug left as it was"),
    ("def total(things)", "def total(things=())", "the signature of `total` is changed, which the bug left as it was"),
    ("def total(things)", "def total(things, /)", "the signature of `total` is changed, which the bug left as it was"),
    ("def total(things)", "async def total(things)", "the signature of `total` is changed, which the bug left"),
    ("def total(things)", "def total(things, _=setattr(Shop, 'sold', id))",
     "`setattr(Shop, 'sold', id)` runs code while"),
    ("def total(things)", "def total(things: setattr(Shop, 'sold', id))",
     "`setattr(Shop, 'sold', id)` runs code while"),
    ("thing: str)", "thing: setattr(str, 'x', id))", "`setattr(str, 'x', id)` runs code while the module is loaded"),
    ("def total(things)", "def total(things) -> setattr(Shop, 'sold', id)",
     "`setattr(Shop, 'sold', id)` runs code while"),
    ("class Shop:", "def own(kind):\n    return kind\n\n\n@own\nclass Shop:", "the bases or decorators of `Shop` are"),
    ("class Shop:", "class _Base:\n    pass\n\n\nclass Shop(_Base):", "the bases or decorators of `Shop` are changed"),
    ("def total(", "sum = max\n\n\ndef total(", "`sum` is bound anew, which the file takes from elsewhere"),
    ("def total(", "def len(x):\n    return 1\n\n\ndef total(",
     "`len` is bound anew, which the file takes from elsewhere"),
    ("import re\n", "import re\nfrom own import sum\n", "`sum` is bound anew, which the file takes from elsewhere"),
    ("def total(", "re = None\n\n\ndef total(", "`re` is bound anew, which the file takes from elsewhere"),
    ("def total(", "from functools import lru_cache\n\n\n@lru_cache(8)\ndef _one():\n    pass\n\n\ndef total(",
     "`lru_cache(8)` runs code while the module is loaded"),
    ("def total(", "@print\ndef total(", "`print` runs code while the module is loaded"),
    ("    open = True\n", "    open = True\n    __len__ = hash\n", "`__len__ = hash` is new in a class that was there"),
    ("else 0\n", "else 0\n\n\ndef sorted(x):\n    return x\n\n\nW = sorted([])\n", "`W = sorted([])` runs code while"),
    ("import re\n", "import re\nfrom own import sorted\n\nW = sorted([])\n",
     "`W = sorted([])` runs code while the module"),
    ("import re\n", "import own as re\n\nW = re.compile('x')\n", "`W = re.compile('x')` runs code while the module"),
    ("import re\n", "import re\nfrom own import *\n\nW = sorted([])\n", "`W = sorted([])` runs code while the module"),
    ("else 0\n", "else 0\n\n\nW = (x := print())\n", "`W = (x := print())` runs code while the module is loaded"),
    ("    def sold", "    def __sizeof__(self):\n        return 1\n\n    def sold", "`Shop.__sizeof__` is new"),
    ("def total(", "def __getattr__(name):\n    return 1\n\n\ndef total(", "`__getattr__` is new"),
    ("thing: str) -> int", "thing: bytes) -> int", "the annotation of `thing` is changed in `Shop.price`"),
    ("thing: str) -> int", "thing: str) -> str", "that of what is returned is changed in `Shop.price`"),
    ("import re\n", "import regex as re\n", "`re` is imported from elsewhere"),
    ("import re\n", "from own import re\n", "`re` is imported from elsewhere"),
    ("LIMIT = 9\n", "LIMIT = 9\n__all__ = ()\n", "`__all__` is new, and the language reads it"),
    ("LIMIT = 9\n", "LIMIT = 9\n__name__ = 'till'\n", "`__name__` is new, and the language reads it"),
    ("LIMIT = 9\n", "LIMIT = 9\n__getattr__ = str\n", "`__getattr__` is new, and the language reads it"),
    ("import re\n", "import re\nfrom os import environ as __spec__\n", "`__spec__` is new, and the language reads it"),
    ("else 0\n", "else 0\n\n\ndef print(*_):\n    pass\n", "`print` is new, and may hide what was there"),
])  # fmt: skip
def test_what_goes_beyond(old: str, new: str, said: str) -> None:
    assert any(one.startswith(f"shop.py: {said}") for one in changed((old, new)))


def test_what_uses_a_name_that_the_bug_took_away_is_of_the_bug() -> None:
    """The bug renamed a method, and left its call: the repair of one line changes the call."""
    original = "class Shop:\n    def open(self):\n        self.__touch()\n\n    def __touch(self):\n        return 1\n"
    buggy = original.replace("def __touch", "def __move")
    repair = buggy.replace("self.__touch", "self.__move")
    assert beyond({"shop.py": buggy}, {"shop.py": repair}, {"shop.py": original}) == []


def test_what_a_package_offers_stays() -> None:
    text = "from .parallel import fold\nfrom .core import (one, two as three)\n"
    for after, gone in (("", ["fold", "one", "three"]), (text.replace("one, ", ""), ["one"]), (text, [])):
        found = beyond({"a/__init__.py": text}, {"a/__init__.py": after}, {"a/__init__.py": text})
        assert found == [f"a/__init__.py: `{name}` is no longer offered, which the bug left as it was" for name in gone]
    assert beyond({"a/b.py": text}, {"a/b.py": ""}, {"a/b.py": text}) == []


def test_what_is_moved_to_another_file_is_not_gone() -> None:
    function = ORIGINAL[ORIGINAL.index("    def sold") : ORIGINAL.index("def total")]
    assert changed((function, "\n\n")) == ["shop.py: `Shop.sold` is gone, which the bug left as it was"]
    shelf = f"class Shop:\n{function}"
    assert changed((function, "\n\n"), ("import re", "import re\n\nimport shelf"), more={"shelf.py": shelf}) == []


def test_a_file_that_the_bug_deleted_may_be_written_anew() -> None:
    """As it was, or with other functions; not with more that runs when it is loaded."""
    original = "import re\n\nWORD = re.compile('a')\n\n\ndef cut(x):\n    return x\n"
    other = original.replace("return x", "return x[:]")
    assert beyond({}, {"own.py": original}, {"own.py": original}) == []
    assert beyond({}, {"own.py": other}, {"own.py": original}) == []
    assert beyond({}, {"own.py": f"{other}\n\nSEEN = cut([])\n"}, {"own.py": original}) == [
        "own.py: `SEEN = cut([])` runs code while the module is loaded"
    ]


def test_a_new_file_may_hold_functions_and_not_warm_them_up() -> None:
    warm = "def cut(things):\n    return things[:40]\n\n\nSEEN = [cut([1] * 50)]\n"
    assert changed(more={"own.py": warm}) == ["own.py: `SEEN = [cut([1] * 50)]` runs code while the module is loaded"]
    assert changed(more={"own.py": "import heapq\n\nheapq.merge = sorted\n"}) == [
        "own.py: `heapq.merge = sorted` stands outside of functions"
    ]
    assert changed(more={"own.py": warm.partition("\n\n\n")[0]}) == []
    assert changed(more={"own.py": "def f(:\n"}) == []  # it is no Python: nothing can load it


TILL = "from abc import ABC\n\n\nclass Till(ABC):\n    def pay(self, sum, *, tip=0):\n        return sum + tip\n"
BROKEN = TILL.replace(", *, tip=0", "").replace(" + tip", "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return", "return", ""),
        ("def pay", "def _own(self):\n        return 1\n\n    def pay", ""),
        (", *, tip=0", ", tip=0", ""),
        (", *, tip=0", ", *, tip=0, round=False", ""),
        ("sum, *, tip=0", "sum, /, *, tip=0", "`Till.pay` does not take all"),
        (", *, tip=0", "", "`Till.pay` does not take all"),
        (", *, tip=0", ", *, tip=1", "`Till.pay` does not take all"),
        (", *, tip=0", ", *, tip", "`Till.pay` does not take all"),
        (", *, tip=0", ", *, tip=0, round", "`Till.pay` does not take all"),
        ("def pay", "def register(self):\n        pass\n\n    def pay", "`Till.register` is new, and may hide"),
        ("from abc import ABC\n", "", "`ABC` is no longer imported, and still used"),
    ],
)
def test_what_differs_from_the_original(old: str, new: str, said: str) -> None:
    """The bug took an argument away, so the signature is of the bug: what callers may give is the original's."""
    assert old in TILL
    found = beyond({"till.py": BROKEN}, {"till.py": TILL.replace(old, new)}, {"till.py": TILL})
    assert bool(found) == bool(said) and all(one.startswith(f"till.py: {said}") for one in found)


@pytest.mark.parametrize(
    ("one", "other", "takes"),
    [
        ("", "", True),
        ("a, b=1", "a, b=1", True),
        ("a, b=1, c=2", "a, b=1", True),
        ("a, b=1", "a, b", True),
        ("b, a", "a, b", False),
        ("a, b", "a, b=1", False),
        ("a, b=2", "a, b=1", False),
        ("a, b=math.inf", "a, b=float('inf')", True),
        ("a, /", "a", False),
        ("z", "a, /", True),
        ("z, /", "a, /", True),
        ("*, a", "a", False),
        ("a", "*, a", True),
        ("*, a=1, b=2", "*, b=2, a=1", True),
        ("*args", "a", False),
        ("a, *args, **kw", "a", True),
        ("a", "a, *args", False),
        ("a", "a, **kw", False),
        ("a, b", "a", False),
        ("a, /, b=1", "a, /, *, b=1", True),
    ],
)
def test_what_can_be_called_as_another(one: str, other: str, takes: bool) -> None:
    first, second = (ast.parse(f"def f({given}): pass").body[0] for given in (one, other))
    assert isinstance(first, ast.FunctionDef) and isinstance(second, ast.FunctionDef)
    assert takes_as(first.args, second.args) == takes
