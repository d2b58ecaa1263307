"""What the folder of a pool may hold."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from curriculum.stored_results import result

from selfplay.artifact.reading import MOST_DEPTH
from selfplay.curriculum import CurriculumError, open_curriculum, open_existing, read_pool


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/tmp"), os.mkfifo], ids=["link", "pipe"])
def test_a_run_with_anything_strange_is_not_written_to(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Wherever it lies, below folders of ours or of nobody's: what commands write would be written where it leads."""
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
    for folder in ("weights/adapter", "checkpoints/step-1", "tensorboard", "new/deep/er", "original/src"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]:
        strange = folder / "strange"
        make(strange)
        inside = folder.is_relative_to(tmp_path / "original")
        _open(read_pool, tmp_path)  # which follows none
        for opened in (open_curriculum, open_existing):
            with nullcontext() if inside else pytest.raises(CurriculumError, match="strange is not a regular file"):
                _open(opened, tmp_path)
        strange.unlink()


@pytest.mark.parametrize("name", ["curriculum.sqlite-wal", "curriculum.sqlite", ".lock", "bugs/new", "summary.json"])
def test_a_run_with_a_hard_link_is_not_written_to(tmp_path: Path, name: str) -> None:
    """An archive may give a file beside the run a second name in it: SQLite then wrote its log into `.bashrc`."""
    run, mine = tmp_path / "run", tmp_path / "mine"
    with open_curriculum(run):
        pass
    mine.touch()
    (run / "bugs").mkdir(exist_ok=True)
    if (run / name).exists():
        mine.write_bytes((run / name).read_bytes())
        (run / name).unlink()
    os.link(mine, run / name)
    before = mine.read_bytes()
    for opened in (open_curriculum, open_existing, *([] if name == "bugs/new" else [read_pool])):
        with pytest.raises(CurriculumError, match=f"{name} is a hard link"):
            _open(opened, run)
    assert mine.read_bytes() == before


def test_a_run_whose_folders_lie_too_deep_is_refused(tmp_path: Path) -> None:
    """Python removes and searches a folder by recursion, and fails at a depth of a thousand."""
    run = tmp_path / "run"
    with open_curriculum(run):
        pass
    deep = run.joinpath("checkpoints", *"d" * (MOST_DEPTH - 1))
    deep.mkdir(parents=True)
    for opened in (open_curriculum, open_existing, read_pool):
        _open(opened, run)
    (deep / "file").touch()
    for opened in (open_curriculum, open_existing):
        with pytest.raises(CurriculumError, match="lies deeper than 16 folders"):
            _open(opened, run)


def _open(opened: Callable[[Path], AbstractContextManager[Any]], folder: Path) -> None:
    with opened(folder):
        pass


def test_a_new_run_is_closed_to_others_and_an_opened_one_stays_open(tmp_path: Path) -> None:
    """It holds code of a checkout that may be closed, the answers and what is hidden of the tests."""
    with open_curriculum(tmp_path / "runs" / "one"):
        assert (tmp_path / "runs" / "one").stat().st_mode & 0o777 == 0o700
    (tmp_path / "runs" / "one").mkdir(exist_ok=True)
    (tmp_path / "runs" / "one").chmod(0o755)
    with open_curriculum(tmp_path / "runs" / "one"):
        assert (tmp_path / "runs" / "one").stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize("place", [".", "attempts", "weights/adapter"])
@pytest.mark.parametrize("how", ["another's", "for all", "for a group"])
def test_a_strangers_run_that_another_user_can_change_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, how: str
) -> None:
    """Between the look and the writing, its owner made a link of the database to the reader's private run."""
    run = tmp_path / "run"
    with open_curriculum(run) as pool:
        pool.episodes.store(result(0))
    folder = run / place
    folder.mkdir(parents=True, exist_ok=True)
    if how == "another's":
        os.chown(folder, 4321, 4321)
    elif how == "for all":
        folder.chmod(0o777)
    else:
        os.chown(folder, 0, 4321)
        folder.chmod(0o775)
    _open(open_existing, run)  # this user's own
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of-another-user"))
    _open(read_pool, run)
    for opened in (open_curriculum, open_existing):
        with pytest.raises(CurriculumError, match=r"(can be changed by|belongs to) another user") as refused:
            _open(opened, run)
        assert "a place of your own" in refused.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_run_goes_into_no_folder_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """He put a link in the place of a tree that was about to be written: a stranger's files lay in `~/.config`."""
    shared = tmp_path / "shared"
    (shared / "empty").mkdir(parents=True)
    os.chown(shared, 4321, 4321)
    with pytest.raises(CurriculumError, match=r"would lie in a folder of another user, .*/shared \(uid 4321\)"):
        _open(open_curriculum, shared / "new" / "run")
    os.chown(shared, 0, 0)
    os.chown(shared / "empty", 4321, 4321)
    with pytest.raises(CurriculumError, match=r"/shared/empty belongs to another user \(uid 4321\)"):
        _open(open_curriculum, shared / "empty")
    assert not list((shared / "empty").iterdir())
    os.chown(tmp_path / "shared", 4321, 4321)
    monkeypatch.chdir(shared)  # a container that has that user's folder, and works in it
    _open(open_curriculum, shared / "run")


def test_an_empty_folder_is_closed_when_it_becomes_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    (tmp_path / "run").chmod(0o777)
    _open(open_curriculum, tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
