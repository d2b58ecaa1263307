"""Scenarios: tests with other inputs, cut out of their files so that they need no test runner."""

import ast

import pytest

from selfplay.oracle.behaviour.python_probes import probed
from selfplay.oracle.behaviour.scenarios import Files

CASES = """
import unittest
from . import Counted, helper

BASE = 7


class Checks(unittest.TestCase):
    def setUp(self):
        self.lock = Counted()

    def check(self, value):
        self.assertEqual(value, BASE)

    def test_first(self):
        with self.subTest(i=1):
            self.check(helper(3))
        with self.assertRaises(ValueError) as caught:
            helper("x")

    def test_other(self):
        pass
"""
INIT = "import unittest\n\n\nclass Counted:\n    pass\n\n\ndef helper(number):\n    return int(number) + 4\n"


def made(path: str, text: str, test: str, more: dict[str, str]) -> str | None:
    """The source of a scenario of the first probe of a test."""
    probes = probed(path, text, [f"{path}::{test}"], 4, 1)
    assert probes is not None and probes.names
    name = next(iter(probes.names))
    inside = {*more, path, "shop/__init__.py", "shop/tests/__init__.py"}
    found = Files({**more, path: probes.text}, inside.__contains__).scenario(path, name)
    return found and found[0]


def test_a_method_is_played_with_all_it_needs_and_no_runner() -> None:
    text = made("tests/test_a.py", CASES, "Checks::test_first", {"tests/__init__.py": INIT})
    assert text is not None
    assert "unittest" not in text and "test_" not in text and "Checks" not in text
    assert "assert" not in text  # not even in the helper `check`
    probes = probed("tests/test_a.py", CASES, ["tests/test_a.py::Checks::test_first"], 1, 1)
    assert probes is not None
    name = next(iter(probes.names))
    files = Files({"tests/__init__.py": INIT, "tests/test_a.py": probes.text}, lambda path: False)
    source, entry = files.scenario("tests/test_a.py", name) or ("", "")
    seen = list[object]()

    class Caught:
        def __init__(self, error: BaseException) -> None:
            self.exception = error

    space = {"selfplay_begin": str, "selfplay_saw": seen.append, "SelfplayCaught": Caught}
    space["selfplay_raised"] = lambda error: seen.append(type(error).__name__)
    exec(compile(source, "scenario", "exec"), space)
    space[entry]()
    assert 7 in seen  # `BASE`, which the helper claims a value to be
    assert len(seen) == 3  # the two sides of the helper's claim, and how the block ended


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\n\n\ndef test_a(tmp_path):\n    assert len('ab') == 2\n",
        "from unittest import mock\n\n\ndef test_a():\n    assert mock.Mock(1)\n",
        "import tests.more as more\n\n\ndef test_a():\n    assert more.f(1)\n",
        "from tests.more import f as g\n\n\ndef test_a():\n    assert g(1)\n",
    ],
    ids=["a fixture of the runner", "a runner's tool", "a test file as a whole", "another name"],
)
def test_what_needs_a_runner_is_no_scenario(text: str) -> None:
    assert made("tests/test_a.py", text, "test_a", {"tests/more.py": "def f(x):\n    return x\n"}) is None


def test_a_case_and_a_plain_fixture_are_given() -> None:
    text = (
        "import pytest\n\n\n@pytest.fixture\ndef base():\n    return 40\n\n\n"
        "@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])\ndef test_sum(a, b, base):\n    assert a + b + base == 43\n"
    )
    source = made("tests/test_a.py", text, "test_sum", {})
    assert source is not None and "pytest" not in source
    entry = ast.parse(source).body[-1]
    call = next(node for node in ast.walk(entry) if isinstance(node, ast.Call) and node.keywords)
    assert [one.arg for one in call.keywords] == ["a", "b", "base"]


def test_what_a_test_takes_from_the_package_around_it_has_its_whole_name() -> None:
    """h11, and others whose tests lie in the package: none of their tests could be played outside of the runner."""
    text = (
        "from .. import other\nfrom ..prices import price\nfrom .helpers import double\nfrom ....far import away\n\n\n"
        "def test_price():\n    assert price(double(3)) == 7 + other(1)\n"
    )
    found = made("shop/tests/test_a.py", text, "test_price", {"shop/tests/helpers.py": "def double(n): return 2 * n\n"})
    assert found is not None
    assert "from shop import other" in found and "from shop.prices import price" in found
    assert "helpers" not in found and "from ." not in found
