"""Tests that a class inherits become its own, so that probes can take their place."""

import ast

from selfplay.oracle.behaviour.inherited_tests import with_inherited
from selfplay.oracle.behaviour.python_probes import probed
from selfplay.oracle.behaviour.scenarios import Files

MIXIN = """
import unittest
import shop

LIMIT = 3

def made(number):
    return shop.Box(number)

class Base:
    def test_deep(self):
        self.assertEqual(made(LIMIT).size, 3)

class Mixin(Base):
    def test_shared(self):
        self.assertEqual(self.Box(7).size, 7)

    def test_undecided(self):
        self.assertEqual(self.Box(8).size, 8)

    def test_above(self):
        super().test_above()
"""
CASES = """
import unittest
import shop
from . import Mixin

class Near(unittest.TestCase):
    def test_near(self):
        self.assertEqual(shop.Box(1).size, 1)

class First(unittest.TestCase, Mixin):
    Box = shop.Box

    def test_own(self):
        self.assertEqual(shop.Box(2).size, 2)

class Second(Near):
    pass
"""
TEXTS = {"tests/__init__.py": MIXIN, "tests/test_a.py": CASES}


def methods(text: str) -> dict[str, list[str]]:
    """Class -> its test methods."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return {node.name: [one.name for one in node.body if isinstance(one, ast.FunctionDef)] for node in classes}


def test_a_class_gets_the_asked_tests_of_its_bases() -> None:
    """Of this file and of another; not those that were not asked for, nor those that mean something else elsewhere."""
    asked = ["First::test_shared", "First::test_above", "First::test_deep", "First::test_own", "Second::test_near"]
    found = with_inherited("tests/test_a.py", TEXTS, [f"tests/test_a.py::{one}" for one in asked])
    assert methods(found) == {
        "Near": ["test_near"], "First": ["test_own", "test_shared", "test_deep"], "Second": ["test_near"],
    }  # fmt: skip
    assert "from . import made\nfrom . import LIMIT\n" in found and "import shop" not in found.split("LIMIT")[1]


def test_a_file_without_them_is_left_as_it_is() -> None:
    assert with_inherited("tests/test_a.py", TEXTS, ["tests/test_a.py::First::test_own"]) == CASES
    assert with_inherited("a.py", {"a.py": "def ("}, ["a.py::A::test_b"]) == "def ("
    deep = f"{CASES}\nDEEP = {'-' * 900}1\n"
    nested = {**TEXTS, "tests/test_a.py": deep}
    assert with_inherited("tests/test_a.py", nested, ["tests/test_a.py::First::test_shared"]) == deep
    circle = "class A(B):\n    pass\n\nclass B(A):\n    pass\n"
    assert with_inherited("a.py", {"a.py": circle}, ["a.py::A::test_b"]) == circle


def test_an_inherited_test_is_probed_and_played_without_a_runner() -> None:
    tests = ["tests/test_a.py::First::test_shared"]
    probes = probed("tests/test_a.py", with_inherited("tests/test_a.py", TEXTS, tests), tests, 4, 1)
    assert probes is not None and set(probes.names.values()) == {"test_shared"}
    found = Files({**TEXTS, "tests/test_a.py": probes.text}, lambda path: False).scenario(
        "tests/test_a.py", next(iter(probes.names))
    )
    assert found is not None and "unittest" not in found[0] and "test_" not in found[0]
