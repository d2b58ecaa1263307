"""The errors that the F2P tests ask for."""

from selfplay.oracle.behaviour.asserted_errors import asserted_errors
from selfplay.workbench.files import TestFile

TESTS = b"""
import pytest, unittest, shop

def test_refuses():
    with pytest.raises((ValueError, shop.Closed)):
        shop.open(0)

class TestShop(unittest.TestCase):
    def test_closed(self):
        self.assertRaises(KeyError, shop.open, 'x')
        with self.assertRaisesRegex(TypeError, 'closed'):
            shop.close()

def test_other():
    with pytest.raises(OSError):
        shop.open(1)
"""


def test_errors_that_wanted_tests_name() -> None:
    """A `TypeError` is left out: it is no sign of the original when both programs refuse an argument."""
    files = {"tests/test_shop.py": TestFile(TESTS, 0o644), "tests/test_broken.py": TestFile(b"def (", 0o644)}
    asked = ["tests/test_shop.py::test_refuses", "tests/test_shop.py::TestShop::test_closed"]
    assert asserted_errors(files, asked) == {f'["raised", "{name}"]' for name in ("ValueError", "Closed", "KeyError")}
    assert asserted_errors(files, ["tests/test_shop.py::test_elsewhere"]) == frozenset()
