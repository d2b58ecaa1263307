"""A disk without room damages no run: the message says so, never that the run is not one."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from curriculum.stored_results import result

from selfplay.curriculum import CurriculumError, open_curriculum, read_pool
from selfplay.curriculum.database_errors import DISK, FREE, RESUME, DamagedDatabase, hint, said
from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger import open_ledger

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let root mount")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def fill(disk: Path, leave: int) -> None:
    """Fill a disk but for `leave` bytes."""
    left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "filler").write_bytes(b"x" * (left - leave))


@pytest.mark.parametrize("kib", [0, 4, 8, 16, 28, 32, 36, 64])
def test_a_run_on_a_full_disk_is_still_a_run(small: Path, kib: int) -> None:
    with open_curriculum(small / "run") as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(1)
    fill(small, kib << 10)
    with pytest.raises(CurriculumError) as caught, open_curriculum(small / "run") as pool:
        for number in range(1, 100):
            pool.episodes.store(result(number))
    assert "not a curriculum" not in caught.value.message and "damaged" not in caught.value.message
    assert "the same command resumes" in caught.value.hint
    with read_pool(small / "run") as pool:
        assert [bug.id for bug in pool.bugs()] == ["b.0"]
    (small / "filler").unlink()
    with open_curriculum(small / "run") as pool:
        assert pool.episodes.count() >= 1


@pytest.mark.parametrize("kib", [0, 4, 16])
def test_a_ledger_on_a_full_disk(small: Path, kib: int) -> None:
    with open_ledger(small) as ledger:
        ledger.begin(1, 0, [])
    fill(small, kib << 10)
    with pytest.raises(TrainingError, match=r"has \d+ KiB free") as caught, open_ledger(small) as ledger:
        ledger.settle({"a": "x" * 100_000})
    assert caught.value.hint == FREE


def test_no_place_for_the_copy_that_is_read(small: Path, tmp_path_factory: pytest.TempPathFactory,
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    run = tmp_path_factory.mktemp("run")
    with open_curriculum(run):
        pass
    monkeypatch.setattr("tempfile.tempdir", str(small))
    fill(small, 0)
    with pytest.raises(CurriculumError, match=f"{small} has no space for a copy") as caught, read_pool(run):
        pass
    assert "TMPDIR" in caught.value.hint


def _error(code: int | None) -> sqlite3.Error:
    error = sqlite3.OperationalError("said")
    if code is not None:
        error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "foreign", "todo"),
    [
        (sqlite3.SQLITE_NOTADB, True, RESUME), (sqlite3.SQLITE_ERROR, True, RESUME),
        (sqlite3.SQLITE_IOERR | 19 << 8, False, DISK), (sqlite3.SQLITE_CANTOPEN, False, DISK),
        (sqlite3.SQLITE_FULL, False, FREE), (sqlite3.SQLITE_BUSY, False, RESUME), (sqlite3.SQLITE_NOMEM, False, RESUME),
        (sqlite3.SQLITE_INTERRUPT, False, RESUME), (None, False, RESUME),
    ],
)  # fmt: skip
def test_only_what_proves_a_foreign_file_says_so(tmp_path: Path, code: int | None, foreign: bool, todo: str) -> None:
    error = _error(code)
    assert ("is not a curriculum" in said(error, tmp_path / "pool")) is foreign
    assert hint(error, tmp_path) == todo


def test_damage_is_not_another_s_file(tmp_path: Path) -> None:
    for error in (DamagedDatabase("row 1 missing"), _error(sqlite3.SQLITE_CORRUPT)):
        assert "pool is damaged: " in said(error, tmp_path / "pool")
