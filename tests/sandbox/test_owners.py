"""Folders that held strangers' files are deleted whatever is in them, and one that cannot be keeps no other."""

import contextlib
import fcntl
import os
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest
from deep_folders import deep
from ordinary_user import by_root

from selfplay.sandbox import Mount, World, owners
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.preparing import drop

from .test_as_ordinary_user import ORDINARY_ID


@pytest.mark.slow
@pytest.mark.parametrize("levels", [1_200, 20_000])
def test_a_deep_tree_is_deleted(tmp_path: Path, levels: int) -> None:
    deep(tmp_path / "tree", levels)
    assert owners.remove(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_what_is_linked_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    os.mkfifo(tmp_path / "tree" / "fifo")
    (tmp_path / "alias").symlink_to(tmp_path / "kept")
    assert owners.remove(tmp_path / "tree") and owners.remove(tmp_path / "alias")
    assert list(tmp_path.iterdir()) == [tmp_path / "kept"] and (tmp_path / "kept" / "file").read_text() == "kept"
    assert owners.remove(tmp_path / "never there") and owners.remove(tmp_path / "kept" / "file")


def test_folders_that_forbid_reading_are_deleted() -> None:
    """By an ordinary user: root may read them all the same."""
    place = Path(tempfile.mkdtemp(prefix="selfplay-test-", dir="/var/tmp"))
    tree = place / "tree"
    (tree / "closed" / "inner").mkdir(parents=True)
    (tree / "closed" / "inner" / "file").write_text("")
    for folder in (tree / "closed" / "inner", tree / "closed", tree, place):
        folder.chmod(0o755 if folder == place else 0)
        if os.getuid() == 0:
            os.chown(folder, ORDINARY_ID, ORDINARY_ID)
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            drop(ORDINARY_ID, ORDINARY_ID)
        os._exit(0 if owners.remove(tree) else 1)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert list(place.iterdir()) == []
    finally:
        assert owners.remove(place)


def left_behind(parent: Path, number: int) -> Path:
    """A scratch folder of a process that is dead: no process has so high a number."""
    folder = parent / f"{owners.PREFIX}{2**22 + 1}-1.{owners.namespace()}.{number}"
    folder.mkdir()
    return folder


def test_what_another_machine_left_in_a_shared_folder_is_not_ours_to_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pid namespace has the same number on every machine, and the process is none here."""
    left_behind(tmp_path, 0)
    (mine,) = owners.left_in(tmp_path)
    own = owners.namespace()
    monkeypatch.setattr(owners, "namespace", lambda: f"{own[:-8]}{'0' * 8}")
    assert not list(owners.left_in(tmp_path)) and mine.name.split(".")[1] == own


def test_a_sweep_goes_on_after_a_folder_it_cannot_delete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [left_behind(tmp_path, number) for number in range(3)]
    deep(folders[0] / "deep", 1_200)
    real = owners.remove

    def refusing(folder: Path) -> bool:
        if folder == folders[1]:
            raise PermissionError("immutable")
        return real(folder)

    monkeypatch.setattr(owners, "remove", refusing)
    owners.sweep(tmp_path)
    assert [folder.exists() for folder in folders] == [False, True, False]


def test_a_scratch_folder_with_a_deep_tree_is_gone_after_its_context(tmp_path: Path) -> None:
    with owners.scratch(tmp_path) as folder:
        deep(folder / "deep", 1_200)
    assert list(tmp_path.iterdir()) == []


@by_root
def test_what_is_open_in_a_scratch_folder_is_so_for_the_sandbox_alone() -> None:
    """Files that only their owner may read are copied there, and a run's secrets are written there."""
    with owners.scratch() as folder:
        folder.chmod(0o755)
        (folder / "told").write_text("a secret")
        (folder / "told").chmod(0o644)
        other = {"user": ORDINARY_ID, "group": ORDINARY_ID, "extra_groups": []}
        read = subprocess.run(["cat", folder / "told"], capture_output=True, **other)  # type: ignore[call-overload]
        assert (read.returncode, read.stdout) == (1, b"")
        with closing(BubblewrapBackend()) as backend, backend.open(World(mounts=(Mount(folder, "/shown"),))) as sandbox:
            assert sandbox.read_file("/shown/told") == b"a secret"


def test_what_another_start_of_the_machine_left_goes_when_nobody_holds_it(tmp_path: Path) -> None:
    """After a power cut no name is of this boot, and a build may have left gigabytes."""
    old = time.time() - 2 * owners.ABANDONED_SECONDS
    names = {
        name: tmp_path / f"{owners.PREFIX}123-456.4026531836deadbeef.{name}"
        for name in ("left", "held", "new", "other")
    }
    for name, folder in names.items():
        (folder / ("else" if name == "other" else owners.INNER)).mkdir(parents=True)
        os.utime(folder, (old, old) if name != "new" else None)
    with contextlib.ExitStack() as kept:
        descriptor = os.open(names["held"], os.O_RDONLY)
        kept.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        owners.sweep(tmp_path)
        assert sorted(name for name, folder in names.items() if folder.exists()) == ["held", "new", "other"]
    owners.sweep(tmp_path)
    assert sorted(name for name, folder in names.items() if folder.exists()) == ["new", "other"]


def test_a_scratch_folder_is_held_while_it_is_used(tmp_path: Path) -> None:
    with owners.scratch(tmp_path) as folder:
        assert owners._is_held(folder.parent)
    assert not list(tmp_path.iterdir())


def test_a_folder_with_a_short_path_goes_with_its_process_or_after_it(tmp_path: Path) -> None:
    with owners.short_scratch(tmp_path) as far:  # which is too long for sockets, and so lies elsewhere
        assert len(str(far)) < 30 and far.stat().st_mode & 0o077 == 0
    assert not far.exists()


def test_what_dead_processes_left_with_a_short_path_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(owners, "MOST_SHORT", 1000)
    fresh, old = tmp_path / "sp-fresh", tmp_path / "sp-old"
    for folder in (fresh, old, tmp_path / "other"):
        (folder / "ray").mkdir(parents=True)
        os.utime(folder, (1, 1))
    os.utime(fresh)
    with owners.short_scratch(tmp_path) as first:
        os.utime(first, (1, 1))
        with owners.short_scratch(tmp_path):
            assert first.exists() and fresh.exists() and not old.exists() and (tmp_path / "other").exists()
