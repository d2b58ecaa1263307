"""Verdicts of a long benchmark that goes on where it was stopped."""

from pathlib import Path

import pytest

from benchmarks import kept
from benchmarks.kept import Kept


def test_what_was_kept_is_there_and_a_line_cut_off_is_not(tmp_path: Path) -> None:
    file = tmp_path / "verdicts"
    Kept(file).add(("bug", 1), {"gold": "resolved"})
    with file.open("a") as stream:
        stream.write('{"source": "cut o')
    again = Kept(file)
    assert again.of(("bug", 1)) == {"gold": "resolved"}
    assert again.of(("bug", 2)) is None


def test_another_source_of_the_judge_gives_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "verdicts"
    Kept(file).add(("bug", 1), {"gold": "resolved"})
    monkeypatch.setattr(kept, "source", lambda: "another")
    assert Kept(file).of(("bug", 1)) is None


def test_without_a_file_nothing_is_kept() -> None:
    known = Kept()
    known.add(("bug", 1), {})
    assert known.of(("bug", 1)) is None
