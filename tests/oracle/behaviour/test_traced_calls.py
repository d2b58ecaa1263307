"""How tests are watched: until they made so many calls, or took so long."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.oracle.behaviour.traced_calls import _WATCHING, ENTERED_FILE, read_entered, watching
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
"""


def test_a_test_that_makes_many_calls_is_watched_up_to_a_point(tmp_path: Path) -> None:
    """Each call is two events. Without an end the suite of more-itertools took more than its time, and nothing was
    known of how any of its tests enter the program."""
    (tmp_path / "shop.py").write_text("def first(x):\n    return x\n")
    order = json.dumps({"root": str(tmp_path), "tests": ["test_shop.py"], "changed": {"shop.py": []}})
    record = tmp_path / "record"
    text = f"{LONG}\nSELFPLAY_ORDER = {order!r}\n{_WATCHING}\ntest_long()\ntest_short()\n"
    file = tmp_path / "test_shop.py"
    file.write_text(text.replace(ENTERED_FILE, str(record)))
    subprocess.run([sys.executable, file], check=True, cwd=tmp_path, timeout=60)
    calls = {call.rpartition(".")[2] for call, _ in read_entered(record.read_bytes()).calls}
    assert calls == {"first(1)", "first(3)"}


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


@pytest.mark.slow
def test_where_the_alarm_is_taken_nothing_is_ended(tmp_path: Path) -> None:
    """As by pytest's plugin for time limits, which takes it for each test."""
    said = watched(tmp_path, "def test_long():\n    import time\n    time.sleep(3.5)\n", "--timeout=60")
    assert "1 passed" in said and read_entered((tmp_path / "record").read_bytes()).stopped == ()


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


def test_a_sub_test_that_skips_or_fails_ends_no_loop(tmp_path: Path) -> None:
    assert "1 passed" in watched(tmp_path, SUB_TESTS.replace("PLACE", repr(str(tmp_path / "reached"))))
    assert (tmp_path / "reached").exists()
