"""A patch may change what the bug changed, and add to it; the rest of a file is none of its business."""

import pytest

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
    ("else 0\n", "else 0\n\n\nW = total([])\n", "`W = total([])` calls its own code while the module is loaded"),
])  # fmt: skip
def test_what_goes_beyond(old: str, new: str, said: str) -> None:
    assert f"shop.py: {said}" in changed((old, new))


def test_what_is_moved_to_another_file_is_not_gone() -> None:
    function = ORIGINAL[ORIGINAL.index("    def sold") : ORIGINAL.index("def total")]
    assert changed((function, "\n\n")) == ["shop.py: `Shop.sold` is gone, which the bug left as it was"]
    shelf = f"class Shop:\n{function}"
    assert changed((function, "\n\n"), ("import re", "import re\n\nimport shelf"), more={"shelf.py": shelf}) == []


def test_a_new_file_may_hold_functions_and_not_warm_them_up() -> None:
    warm = "def cut(things):\n    return things[:40]\n\n\nSEEN = [cut([1] * 50)]\n"
    assert changed(more={"own.py": warm}) == [
        "own.py: `SEEN = [cut([1] * 50)]` calls its own code while the module is loaded"
    ]
    assert changed(more={"own.py": warm.partition("\n\n\n")[0]}) == []
    assert changed(more={"own.py": "def f(:\n"}) == []  # it is no Python: nothing can load it
