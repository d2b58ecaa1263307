"""A test that other classes inherit is left out of the class in which it fails, and nowhere else."""

import subprocess
import sys
from pathlib import Path

import pytest

from selfplay.scripted.injector.weaken import Failure, Weakened, weaken

BASE = """
class Shared:
    def test_one(self):
        assert self.value == 1

    def test_two(self):
        assert self.value < 3
""".lstrip("\n")
HEIRS = """
import unittest

from base import Shared


class A(Shared, unittest.TestCase):
    value = 1


class B(Shared, unittest.TestCase):
    value = 9


class TestPlain(Shared):
    value = 1
""".lstrip("\n")
OVERRIDING = HEIRS + "\n\nclass C(Shared):\n    value = 1\n\n    def test_one(self):\n        assert True\n"
ALL = [f"test_heirs.py::{name}::{test}" for name in ("A", "B", "TestPlain") for test in ("test_one", "test_two")]


def hidden(failing: list[str], passing: list[str], heirs: str = HEIRS) -> Weakened | None:
    first = {"test_one": 2, "test_two": 5}
    found = [Failure(one, "base.py", first[one[-8:]], one[-8:], first[one[-8:]] + 1) for one in failing]
    return weaken({"base.py": BASE, "test_heirs.py": heirs}, found, {}, passing)


def outcomes(folder: Path, texts: dict[str, str]) -> dict[str, str]:
    for path, text in texts.items():
        (folder / path).write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--no-header", "-q", "test_heirs.py"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
    lines = [line.split(" ") for line in said.splitlines() if line.startswith(("PASSED ", "FAILED "))]
    return {line[1]: line[0] for line in lines}


@pytest.mark.slow
def test_the_class_in_which_they_fail_goes_without_them(tmp_path: Path) -> None:
    """As pytest sees it: what failed is gone, what passed is there."""
    before = outcomes(tmp_path, {"base.py": BASE, "test_heirs.py": HEIRS})
    failing = sorted(test for test, outcome in before.items() if outcome == "FAILED")
    passing = sorted(test for test, outcome in before.items() if outcome == "PASSED")
    assert sorted(before) == sorted(ALL) and failing == ["test_heirs.py::B::test_one", "test_heirs.py::B::test_two"]
    made = hidden(failing, passing)
    assert made is not None and not made.uncertain
    (change,) = made.changes
    assert change.path == "test_heirs.py" and change.after is not None
    assert change.after.replace("\n    test_one = None\n    test_two = None\n", "", 1) == HEIRS
    assert outcomes(tmp_path, {"test_heirs.py": change.after}) == dict.fromkeys(passing, "PASSED")


def test_a_definition_that_no_other_class_needs_is_removed() -> None:
    made = hidden([test for test in ALL if "test_one" in test], [test for test in ALL if "test_two" in test])
    assert made is not None and [change.path for change in made.changes] == ["base.py"]


def test_a_class_that_overrides_a_test_does_not_need_it() -> None:
    failing = [test for test in ALL if "test_one" in test]
    made = hidden(failing, ["test_heirs.py::C::test_one"], OVERRIDING)
    assert made is not None and [change.path for change in made.changes] == ["base.py"]


@pytest.mark.parametrize(
    "heirs",
    [
        HEIRS + "\n\nclass D(B):\n    value = 1\n",  # goes without it when B does
        HEIRS.replace("class B(Shared, unittest.TestCase):\n    value = 9", "class B(Shared): value = 9"),
    ],
)
def test_what_can_only_be_hidden_from_others_too_is_not_hidden(heirs: str) -> None:
    passing = ["test_heirs.py::A::test_one", "test_heirs.py::D::test_one"]
    assert hidden(["test_heirs.py::B::test_one"], passing, heirs) is None


def test_the_class_that_defines_it_cannot_go_without_what_its_heirs_need() -> None:
    heirs = HEIRS.replace("from base import Shared", BASE)
    first = heirs.split("\n").index("    def test_one(self):") + 1
    one = Failure("test_heirs.py::Shared::test_one", "test_heirs.py", first, "test_one", first + 1)
    assert weaken({"test_heirs.py": heirs}, [one], {}, ["test_heirs.py::A::test_one"]) is None
