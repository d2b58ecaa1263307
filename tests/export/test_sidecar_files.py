"""Several processes write the files beside the tables as one does, and their errors are its own."""

import errno
import os
from pathlib import Path

import hand_made
import pools
import pytest

from selfplay.commands.export import ExportOrder, run_export
from selfplay.curriculum import CurriculumError
from selfplay.export import sidecar_files, writing
from selfplay.export.formats import Form


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return pools.pool(tmp_path / "run", hand_made.original("python"), pools.numbered(hand_made.artifact("python"), 7))


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_files, "MANY", 1)
    monkeypatch.setattr(sidecar_files, "CHUNK", 2)


@pytest.mark.parametrize("form", ["r2e", "harbor"])
def test_the_same_bytes_by_one_process_and_by_several(
    run: Path, tmp_path: Path, request: pytest.FixtureRequest, form: Form
) -> None:
    run_export(ExportOrder((run,), tmp_path / "one", form))
    request.getfixturevalue("several")
    run_export(ExportOrder((run,), tmp_path / "several", form))
    one, several = (
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        for out in (tmp_path / "one", tmp_path / "several")
    )
    assert one == several and len(one) > 3 * 7


@pytest.mark.usefixtures("several")
def test_a_full_disk_in_another_process_leaves_nothing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()

    def full(folder: Path, files: dict[str, bytes]) -> dict[str, str]:
        if os.getpid() != here:
            raise OSError(errno.ENOSPC, "No space left on device")
        return writing.write_files(folder, files)

    monkeypatch.setattr(sidecar_files, "write_files", full)
    with pytest.raises(CurriculumError, match="cannot be written: No space left on device; nothing was left there"):
        run_export(ExportOrder((run,), tmp_path / "out", "harbor"))
    assert not (tmp_path / "out").exists()
