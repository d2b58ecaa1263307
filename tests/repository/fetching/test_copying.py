"""Folders that root copies for the sandbox's user: measured first, bounded, and never a hole written."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repository_fixtures import Taken, write

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching import copying
from selfplay.repository.fetching.copying import copied
from selfplay.repository.fetching.fetch import reading_tree
from selfplay.sandbox import Backend, Mount

Take = Callable[..., Taken]
OWNER = (os.geteuid(), os.getegid())
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what is closed to all others")


def closed_with(folder: Path, size: int) -> Path:
    """A folder with a sparse file of that size, and one that only its owner reads."""
    write(folder, {"a.py": "x = 1\n", "closed.py": ""})
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(size)
    (folder / "closed.py").chmod(0o600)
    return folder


def spent() -> float:
    return sum(os.times()[:4])


@ROOT
@pytest.mark.parametrize("kind", ["a source", "a run's original"])
def test_a_huge_sparse_file_is_refused_before_anything_is_written(
    kind: str, tmp_path: Path, taken: Take, backend: Backend
) -> None:
    folder, work = closed_with(tmp_path / "project", 5 << 30), tmp_path / "taken-0"
    before = spent()
    with pytest.raises(SourceError, match=r"files that only root can read.*more than 1,073,741,824 bytes"):
        if kind == "a source":
            taken(folder)
        work.mkdir(exist_ok=True)
        with reading_tree(folder, "original", None, backend=backend, work=work):
            pass
    assert spent() - before < 2.0
    assert list(work.glob("copy-of*")) == []


def mounts(folder: Path) -> tuple[Mount, ...]:
    return (Mount(folder, "/source"),)


def test_holes_stay_holes(tmp_path: Path) -> None:
    folder = write(tmp_path / "project", {"start": "x"})
    with (folder / "start").open("r+b") as file:
        file.truncate(64 << 20)
        file.seek(32 << 20)
        file.write(b"middle")
    (one,) = copied(mounts(folder), OWNER[0], tmp_path, OWNER, "it", 60.0)
    made = one.source / "start"
    assert made.read_bytes() == (folder / "start").read_bytes() and made.stat().st_blocks * 512 < 8 << 20


def test_too_many_files_and_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "project", {f"{number}.py": "" for number in range(20)})
    with pytest.raises(SourceError, match="it takes more than 0 s"):
        copied(mounts(folder), OWNER[0], tmp_path, OWNER, "it", 0.0)
    monkeypatch.setattr(copying, "BOUNDS", replace(copying.BOUNDS, entries=19))
    with pytest.raises(SourceError, match="more than 19 files and folders"):
        copied(mounts(folder), OWNER[0], tmp_path, OWNER, "it", 60.0)
    assert list(tmp_path.glob("copy-of*")) == []


@pytest.mark.slow
def test_a_copy_that_takes_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "pack.py"
    program.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(copying.pack, "__file__", str(program))
    folder, start = write(tmp_path / "project", {"a.py": ""}), time.monotonic()
    with pytest.raises(SourceError, match="it takes more than 1 s"):
        copied(mounts(folder), OWNER[0], tmp_path, OWNER, "it", 1.0)
    assert time.monotonic() - start < 10
