"""A copy of a finished run, to be tampered with, for the tests of `selfplay validate` and `show`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from copied_runs import copy_of
from run_fixtures import Done


@pytest.fixture
def run(finished: tuple[Path, Done], tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return copy_of(finished[0], tmp_path / "run")


def first_bug(run: Path) -> Path:
    return sorted((run / "bugs").iterdir())[0]


def rewrite(path: Path, edit: Callable[[str], str]) -> None:
    before = path.read_text()
    after = edit(before)
    assert after != before
    path.write_text(after)
