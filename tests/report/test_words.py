"""What people read is words: reasons of grades, errors of the operating system."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from selfplay.curriculum import Attempt
from selfplay.errors import in_words
from selfplay.oracle.assurance import NEEDED
from selfplay.oracle.grades import Grade
from selfplay.oracle.layers import Layer
from selfplay.report.progress import LiveWatcher
from selfplay.report.tables import grade_table, grades_table
from selfplay.sandbox.docker.client import unreachable

GRADE = Grade(False, "failing-tests", "of the tests that decide, 1 fails and 0 are missing, first 'a'")


def text(page: RenderableType) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(page)
    return captured.get()


def test_a_grade_is_told_in_words_and_its_json_keeps_the_name() -> None:
    for page in (grade_table("bug", GRADE), grades_table({"bug": GRADE})):
        assert "failing-tests" not in text(page) and "tests fail" in text(page)
    assert GRADE.to_json()["reason"] == "failing-tests"


def test_a_grade_says_how_sure_it_is() -> None:
    """Only its JSON did: who read the table took a weak grade for a full one."""
    sound = tuple(Layer(name, "passed", "it did") for name in NEEDED)
    full = Grade(True, "resolved", "all 1 F2P and 2 P2P tests pass", layers=sound)
    assert "assurance: full" in text(grade_table("bug", full)) and " full " in text(grades_table({"bug": full}))
    weak = replace(full, layers=(*sound[:-1], Layer("parts", "unavailable", "no input tells it")))
    assert "assurance: weak: parts: no input tells it" in text(grade_table("bug", weak))
    assert " weak " in (page := text(grades_table({"bug": weak}))) and "parts: no input tells it" in page


def test_an_attempt_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveWatcher() as watcher:
        watcher.attempt(Attempt("bug", "scripted", 0, False, "does-not-apply", "", ""))
    assert "bug scripted 0: the patch does not apply" in capsys.readouterr().err


def test_an_error_of_the_system_loses_its_number() -> None:
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory", str(Path("/no/such.sock")))
    assert in_words(missing) == "No such file or directory" and in_words(ValueError("odd")) == "odd"
    wrapped = RuntimeError("Error while fetching server API version")
    wrapped.__cause__ = FileNotFoundError(2, "No such file or directory")
    assert unreachable(wrapped).message == "no Docker engine answers: No such file or directory"
