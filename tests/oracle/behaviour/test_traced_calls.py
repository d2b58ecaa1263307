"""How tests are watched: until they made so many calls, or took so long."""

import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.oracle.behaviour.traced_calls import (
    ENTERED_FILE,
    Entered,
    read_entered,
    watcher,
    watching,
)
from selfplay.sandbox import World

LONG = """
import shop

def test_long():
    selfplay_enter("test_long")
    try:
        shop.first(1)
        for _ in range(200_000):
            abs(-1)
        shop.first(2)
    finally:
        selfplay_leave()

def test_short():
    selfplay_enter("test_short")
    try:
        shop.first(3)
    finally:
        selfplay_leave()

# now
"""


def test_a_test_that_makes_many_calls_is_watched_up_to_a_point(tmp_path: Path) -> None:
    """Each call is two events. Without an end the suite of more-itertools took more than its time, and nothing was
    known of how any of its tests enter the program."""
    entered = entering(tmp_path, "def first(x):\n    return x\n", [], f"{LONG}\ntest_long()\ntest_short()\n")
    assert {call.rpartition(".")[2] for call, _ in entered.calls} == {"first(1)", "first(3)"}


def entering(folder: Path, shop: str, changed: list[int], tests: str) -> Entered:
    """How tests enter a program, `shop.py`, of which the functions at these lines are changed."""
    (folder / "shop.py").write_text(shop)
    order = {"root": str(folder), "tests": ["test_shop.py"], "changed": {"shop.py": changed}}
    defined, _, called = tests.partition("\n# now\n")
    text = f"{defined}\n{watcher(order)}\n{called}"
    (folder / "test_shop.py").write_text(text.replace(ENTERED_FILE, str(folder / "record")))
    subprocess.run([sys.executable, folder / "test_shop.py"], check=True, cwd=folder, timeout=60)
    return read_entered((folder / "record").read_bytes())


STATE = """
class Row:
    def __init__(self, *items):
        self.items = items

    def last(self):
        return self.items[-1]

    def add(self, item):
        self.more = item


def show(error, file):
    return [words(type(error), error), _count(error)]


def words(kind, error):
    return kind.__name__, error.args


def _count(error):
    return len(error.args)
"""
ENTERING = """
import sys
import shop

def test_one():
    selfplay_enter("test_one")
    shop.Row(1, 2).last()
    selfplay_leave()

def test_same():
    selfplay_enter("test_same")
    shop.Row(1, 2).last()
    selfplay_leave()

def test_other():
    selfplay_enter("test_other")
    shop.Row(1, 3).last()
    selfplay_leave()

def test_told():
    selfplay_enter("test_told")
    row = shop.Row(1, 2)
    row.add(5)
    row.last()
    selfplay_leave()

def test_told_otherwise():
    selfplay_enter("test_told_otherwise")
    row = shop.Row(1, 2)
    row.add(6)
    row.last()
    selfplay_leave()

def test_shown():
    selfplay_enter("test_shown")
    shop.show(ValueError("closed", 7), sys._getframe())
    selfplay_leave()

# now
test_one()
test_same()
test_other()
test_told()
test_told_otherwise()
test_shown()
"""


def test_what_an_object_was_made_of_tells_inputs_apart(tmp_path: Path) -> None:
    """An object without a `repr` of its own: without what it was made of no other row was another input."""
    reached = entering(tmp_path, STATE, [6], ENTERING).reached
    assert reached["test_one"] == reached["test_same"] != reached["test_other"] and reached["test_other"]
    told = reached["test_told"], reached["test_told_otherwise"]
    assert len({*map(tuple, told), tuple(reached["test_one"])}) == 3, "what was done with it before is input, too"


def test_of_a_call_that_cannot_be_written_the_changed_function_s_own_is_taken(tmp_path: Path) -> None:
    """A frame has no source. A helper's call is not taken."""
    entered = entering(tmp_path, STATE, [17, 21], ENTERING)
    calls = [re.sub(r"selfplay_m\d+\.", "", call) for call, _ in entered.calls]
    assert calls == ["words(ValueError, ValueError('closed', 7))"]


ENDLESS = """
import itertools, unittest

class TestEndless(unittest.TestCase):
    def test_endless_PLACE(self):
        for n in itertools.count():
            with self.subTest(n):
                self.assertEqual(n, n)

    def test_short_PLACE(self):
        self.assertTrue(True)
"""


@pytest.mark.slow
def test_a_test_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A probe of more-itertools with larger numbers in three loops of sub-tests held up the run until nothing of it was
    known. Each test file has the watcher's source, and catches what the first one raises."""
    task: Any = SimpleNamespace(
        artifact=SimpleNamespace(test_files=["test_a.py", "test_b.py"], bug_inject=""), world=World()
    )
    for place in "ab":
        text = watching(task, ENDLESS.replace("PLACE", place)).replace(ENTERED_FILE, str(tmp_path / "record"))
        (tmp_path / f"test_{place}.py").write_text(text)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", tmp_path], capture_output=True, text=True, timeout=100)
    assert "4 passed" in done.stdout and 6 <= time.monotonic() - began < 30  # twice three seconds
    assert read_entered((tmp_path / "record").read_bytes()).stopped == ("test_endless_a", "test_endless_b")


def watched(folder: Path, text: str, *options: str) -> str:
    """What pytest says of a watched test file, `test_a.py`."""
    task: Any = SimpleNamespace(artifact=SimpleNamespace(test_files=["test_a.py"], bug_inject=""), world=World())
    source = watching(task, text).replace(ENTERED_FILE, str(folder / "record"))
    (folder / "test_a.py").write_text(source)
    asked = [sys.executable, "-m", "pytest", "-q", *options, folder]
    return subprocess.run(asked, capture_output=True, text=True, timeout=100).stdout


LONG_TEARDOWN = """
import time, pytest

@pytest.fixture
def slowly():
    yield
    time.sleep(3)

def test_long(slowly):
    time.sleep(20)
"""


@pytest.mark.slow
def test_the_alarm_of_a_runner_is_put_off_while_a_test_is_watched(tmp_path: Path) -> None:
    """As that of pytest's plugin for time limits, or of the scripts of our own bugs, without which a test of
    more-itertools took all the time of a calibration."""
    said = watched(tmp_path, LONG_TEARDOWN, "--timeout=60")
    assert "1 passed" in said and read_entered((tmp_path / "record").read_bytes()).stopped == ("test_long",)
    said = watched(tmp_path, LONG_TEARDOWN, "--timeout=5")  # of these 5 s 2 are left for what takes 3
    assert "1 passed, 1 error" in said and "Timeout" in said
    assert read_entered((tmp_path / "record").read_bytes()).stopped == ("test_long",)
    said = watched(tmp_path, LONG_TEARDOWN, "--timeout=1")  # comes first
    assert "1 failed" in said and read_entered((tmp_path / "record").read_bytes()).stopped == ()


SUB_TESTS = """
import unittest

class TestParts(unittest.TestCase):
    def test_parts(self):
        for n in (1, 2, 3):
            with self.subTest(n):
                if n == 1:
                    self.skipTest("not here")
                self.assertEqual(n, 3)
        open(PLACE, "w").close()
"""


@pytest.mark.slow
def test_a_sub_test_that_skips_or_fails_ends_no_loop(tmp_path: Path) -> None:
    assert "1 passed" in watched(tmp_path, SUB_TESTS.replace("PLACE", repr(str(tmp_path / "reached"))))
    assert (tmp_path / "reached").exists()


def test_a_function_inside_of_a_test_is_no_test(tmp_path: Path) -> None:
    """Its end was taken for the test's: of a test of boltons with an inner function `test` nothing was seen."""
    inner = "def test_outer():\n    def test():\n        pass\n    try:\n        def test_b(): ...\n    finally: pass\n"
    task: Any = SimpleNamespace(artifact=SimpleNamespace(test_files=["test_a.py"], bug_inject=""), world=World())
    assert watching(task, inner).split("SELFPLAY_ORDER")[0].count("selfplay_enter(") == 1
