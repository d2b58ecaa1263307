"""What a kill leaves in a run's folder is removed by the next run, and nothing else is."""

import os
import time
from pathlib import Path

import pytest
from copied_runs import copy_of
from run_fixtures import Command

from selfplay.artifact.files import write_atomically
from selfplay.commands import cleanup
from selfplay.commands.cleanup import sweep


def half_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a kill between writing and renaming leaves, by the very function that writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = set(path.parent.iterdir())
    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", lambda *both, **folders: os._exit(9))
        child = os.fork()
        if child == 0:
            write_atomically(path, b"half")
            os._exit(0)
        os.waitpid(child, 0)
    (left,) = set(path.parent.iterdir()) - before
    return left


def test_what_was_not_whole_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = ["summary.json", "bugs/a.b/bug.json", "attempts/p/a.diff", "trajectories/0.jsonl.zst"]
    left = [half_written(tmp_path / place, monkeypatch) for place in places]
    tree = tmp_path / ".original.4711" / "deep"
    tree.mkdir(parents=True)
    kept = [
        tmp_path / name for name in (".lock", ".gitignore", "bugs/a.b/bug.json", "original/.x.abcdefgh", "notes.txt")
    ]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")
    (tmp_path / ".away.abcdefgh").symlink_to(tmp_path / "notes.txt")
    sweep(tmp_path)
    assert not any(path.exists() for path in left) and not tree.parent.exists()
    assert all(path.read_text() == "kept" for path in kept) and (tmp_path / ".away.abcdefgh").is_symlink()


def test_a_calibration_in_work_is_left_to_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = half_written(tmp_path / "bugs" / "a" / "calibration.json", monkeypatch)
    sweep(tmp_path)
    assert left.exists()
    old = time.time() - cleanup.SECONDS - 1
    os.utime(left, (old, old))
    sweep(tmp_path)
    assert not left.exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["curriculum", "solve"])
def test_both_commands_do(selfplay: Command, calibrated: Path, shop: Path, tmp_path: Path, command: str) -> None:
    """On the code before, `.original.PID` stayed for good."""
    run = copy_of(calibrated, tmp_path / "run")
    (run / ".original.4711" / "deep").mkdir(parents=True)
    (one, *_) = sorted(path.name for path in (run / "bugs").iterdir())
    arguments: tuple[object, ...] = (run, "--policy", "empty", "--attempts", 1, "--bug", one)
    if command == "curriculum":
        arguments = (shop, "--out", run, "--bugs", 4, "--seed", 3)
    assert selfplay(command, *arguments).code == 0
    assert not (run / ".original.4711").exists()


def test_nothing_is_removed_through_a_link_on_the_way(tmp_path: Path) -> None:
    home, run = tmp_path / "home" / "user", tmp_path / "run"
    home.mkdir(parents=True)
    (home / ".bashrc.original").write_text("kept")
    (run / "attempts").mkdir(parents=True)
    (run / "attempts" / "x").symlink_to(home.parent)
    for place in ("bugs", "staging"):
        (run / place).symlink_to(home.parent)
    (run / "trajectories").symlink_to(home)
    sweep(run)
    assert (home / ".bashrc.original").read_text() == "kept"
