"""The folder that a dataset, a world or a log becomes, while other users may change the folder around it."""

import os
from pathlib import Path

import pytest

from selfplay.curriculum import CurriculumError
from selfplay.export.writing import new_folder


def test_what_is_put_in_its_place_meanwhile_gets_nothing(tmp_path: Path) -> None:
    """A link to a repository: the world's files, and a commit, went into it."""
    private = tmp_path / "private"
    private.mkdir()
    with pytest.raises(CurriculumError, match="was replaced meanwhile"):  # noqa: SIM117
        with new_folder(tmp_path / "out") as folder:
            staging = next(one for one in tmp_path.iterdir() if one.name.startswith(".out."))
            staging.rename(tmp_path / "moved")
            staging.symlink_to(private)
            (folder / "inner").mkdir()
            (folder / "inner" / "file").write_text("mine")
    assert not list(private.iterdir())
    assert (tmp_path / "moved" / "inner" / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    os.chown(tmp_path / "shared", 4321, 4321)
    with pytest.raises(CurriculumError, match=r"would lie in a folder of another user, .*/shared \(uid 4321\)"):  # noqa: SIM117
        with new_folder(tmp_path / "shared" / "out"):
            pytest.fail("it was made")
    assert not list((tmp_path / "shared").iterdir())


def test_it_is_closed_to_whom_the_run_is_closed(tmp_path: Path) -> None:
    """A dataset of a closed run lay open beside it: its code, its answers and its hidden tests."""
    for name, mode in {"open": 0o755, "closed": 0o700}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    for runs, closed in ((["open"], False), (["open", "closed"], True)):
        out = tmp_path / f"made-of-{len(runs)}"
        with new_folder(out, *(tmp_path / name for name in runs)) as folder:
            assert bool(folder.stat().st_mode & 0o077) is not closed
        assert bool(out.stat().st_mode & 0o077) is not closed
