"""What the injector sees of the tests after its edits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from selfplay.scripted.injector import inside
from selfplay.scripted.injector.script import of_their_names
from selfplay.scripted.injector.weaken import Failure


def test_other_classes_tests_of_the_name_are_run_again() -> None:
    tests = ["a.py::A::test_x[1]", "a.py::B::test_x", "b.py::test_xy", "b.py::test_x", "a.py::A::test_y"]
    failing = Failure("a.py::A::test_x[1]", "a.py", 3, "test_x")
    assert of_their_names([failing], tests) == ["a.py::A::test_x[1]", "a.py::B::test_x", "b.py::test_x"]


@pytest.mark.slow
@pytest.mark.parametrize("broken", [False, True])
def test_a_file_that_cannot_be_collected_makes_a_look_useless(tmp_path: Path, broken: bool) -> None:
    """Its tests neither fail nor pass: a report would say that the change breaks fewer tests than it does."""
    (tmp_path / "test_a.py").write_text("def test_a(): assert 0\n")
    (tmp_path / "test_b.py").write_text(f"assert {not broken}\ndef test_b(): pass\n")
    looked(tmp_path)
    assert (tmp_path / "out").exists() is not broken


HELPED = """\
def test_above():
    below()

def below():
    assert 0

class TestOfTwo:
    def test_in_a_class(self):
        assert 1
        self.check()

    def check(self):
        below()
"""


@pytest.mark.slow
def test_a_test_failed_where_it_called_the_helper_that_did(tmp_path: Path) -> None:
    """The weakening cuts in the test, which does not hold the helper's line."""
    (tmp_path / "test_a.py").write_text(HELPED)
    looked(tmp_path)
    found = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert {one["name"]: one["crash"] for one in found if "name" in one} == {"test_above": 2, "test_in_a_class": 10}


def looked(folder: Path) -> None:
    """Run the tests of a folder with the probe; its report is the file `out`, if it makes one."""
    (folder / "selfplay_probe.py").write_text(inside.text("selfplay_probe.py"))
    env = {**os.environ, "PYTHONPATH": str(folder), "PROBE_OUT": str(folder / "out")}
    command = [sys.executable, "-m", "pytest", "-p", "selfplay_probe", "--continue-on-collection-errors"]
    subprocess.run([*command, "-p", "no:cacheprovider", "-q", "."], cwd=folder, env=env, capture_output=True)
