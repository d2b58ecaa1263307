"""What acts stays, where a later statement of the test needs it: weakened tests pass on the repaired program."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from selfplay.scripted.injector.weaken import METHODS, Failure, ends, weaken

STOCK = '''
class Stock:
    def __init__(self):
        self.counts = {"tea": 3}

    def take(self, name, count):
        taken = min(count, self.counts[name])
        self.counts[name] -= taken
        return taken

    def left(self, name):
        return self.counts[name]


def first(items):
    return items.pop(0)
'''  # fmt: skip
TESTS = [
    ("    assert stock.take('tea', 2) == 2\n    assert stock.left('tea') == 1\n", 1),
    ("    assert first(items) == 'a'\n    assert items == ['b']\n", 1),
    ("    assert items\n    assert first(items) == 'a'\n    last = items.pop()\n    assert last == 'b'\n", 2),
    ("    self.assertEqual(self.stock.take('tea', 9), 3)\n    self.assertEqual(self.stock.left('tea'), 0)\n", 1),
    ("    assert stock.left('tea') == 3\n    taken = stock.take('tea', 2)\n    assert taken == 2\n"
     "    assert stock.left('tea') == 1\n", 3),
    ("    taken = stock.take('tea', 2)\n    assert stock.left('tea') == 1\n", 1),
    ("    for name in ['tea']:\n        assert stock.take(name, 2) == 2\n        assert stock.left(name) == 1\n", 2),
    ("    assert 2 == stock.take(name='tea',\n        count=2)\n    assert stock.left('tea') == 1\n", 1),
    ("    assert [first(one) for one in (items,)] == ['a']\n    assert items == ['b']\n", 1),
]  # fmt: skip
"""Bodies of tests that pass, and the line at which each fails under a bug."""


def program(body: str) -> str:
    setup = "    def test_a(self):\n        self.stock = stock = Stock()\n        items = ['a', 'b']\n"
    inside = "".join(f"    {line}\n" for line in body.splitlines())
    tests = f"class TestA(unittest.TestCase):\n{setup}{inside}\n    def test_b(self):\n        pass\n"
    return f"import unittest\n{STOCK}\n\n{tests}"


@pytest.mark.parametrize(("body", "line"), TESTS)
@pytest.mark.parametrize("method", [*METHODS, "end"])
def test_a_weakened_test_passes_on_the_repaired_program(body: str, line: int, method: str, tmp_path: Path) -> None:
    text = program(body)
    first = text.split("\n").index("    def test_a(self):") + 1
    failure = Failure("t.py::TestA::test_a", "t.py", first, "test_a", first + 2 + line)
    methods = ends([failure]) if method == "end" else {("t.py", first): method}
    made = weaken({"t.py": text}, [failure], methods)  # type: ignore[arg-type]
    assert made is not None
    weak = made.changes[0].after or ""
    (tmp_path / "t.py").write_text(weak)
    done = subprocess.run([sys.executable, "-m", "unittest", "t"], cwd=tmp_path, capture_output=True, check=False)
    assert weak != text and done.returncode == 0, f"{weak}\n{done.stderr.decode()}"


def test_what_does_not_act_on_the_rest_goes() -> None:
    """A call of a constant, of a module's function: the assertion goes, the others stay."""
    body = "def test_a():\n    text = 'a'\n    assert text.upper() == 'A'\n    assert len(text) == 1\n"
    made = weaken({"t.py": body}, [Failure("t.py::test_a", "t.py", 1, "test_a", 3)], {("t.py", 1): "assertions"})
    assert made is not None and made.changes[0].after == body.replace("    assert text.upper() == 'A'\n", "")


@pytest.mark.slow
def test_a_test_of_many_names_takes_no_square_of_them() -> None:
    lines = "".join(f"    x{number} = f({number})\n" for number in range(20_000))
    body = f"def test_a():\n    assert g(1) == 1\n    assert g(2) == 2\n{lines}"
    began = time.process_time()
    made = weaken({"t.py": body}, [Failure("t.py::test_a", "t.py", 1, "test_a", 2)], {("t.py", 1): "assertions"})
    assert made is not None and time.process_time() - began < 8
