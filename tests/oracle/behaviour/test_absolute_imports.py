"""Imports that begin at a test file's own package."""

import pytest

from selfplay.oracle.behaviour.absolute_imports import absolute_text, package_of
from selfplay.oracle.behaviour.borrowed import helper

FILES = {"src/shop/__init__.py", "src/shop/tests/__init__.py", "tests/test_b.py"}
THERE = FILES.__contains__


@pytest.mark.parametrize(
    ("path", "package"),
    [("src/shop/tests/test_a.py", "shop.tests"), ("src/shop/a.py", "shop"), ("tests/test_b.py", ""), ("a.py", "")],
)
def test_the_package_of_a_file(path: str, package: str) -> None:
    assert package_of(path, THERE) == package


def test_a_helper_that_calls_pass_may_use_the_package_around_its_tests() -> None:
    text = "from ..prices import price\n\n\ndef doubled(n):\n    return price(2 * n)\n"
    assert helper(text, ["doubled"]) == ""
    whole = absolute_text(text, "src/shop/tests/test_a.py", THERE)
    assert helper(whole, ["doubled"]).startswith("from shop.prices import price\n")


@pytest.mark.parametrize(
    "text",
    ["from .helpers import one\n", "from ...above import one\n", "from . import test_c\n", "def (", "import a\n"],
)
def test_what_names_another_test_or_leaves_the_package_stays(text: str) -> None:
    assert absolute_text(text, "src/shop/tests/test_a.py", THERE) == text
    assert absolute_text(text, "tests/test_b.py", THERE) == text
