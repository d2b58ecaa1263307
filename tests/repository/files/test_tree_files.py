"""Trees that leave a sandbox."""

import os
import subprocess
from pathlib import Path

import pytest

from selfplay.repository.errors import BadStream
from selfplay.repository.files.confined_write import Beneath
from selfplay.repository.files.tree_files import commit_here


def test_a_tree_at_a_relative_path_is_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`selfplay world BUG --out DIR` as it is typed: the host's programs run elsewhere."""
    monkeypatch.chdir(tmp_path)
    Path("tree").mkdir()
    Path("tree", "a.py").write_text("a = 1\n")
    commit_here(Path("tree"))
    listed = subprocess.run(["git", "-C", "tree", "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True)
    logged = subprocess.run(["git", "-C", "tree", "log", "--format=%s"], capture_output=True, text=True)
    assert (listed.stdout, logged.stdout) == ("a.py\n", "The tree\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_nothing_is_written_into_a_folder_of_another_user_or_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 4321, 4321)
    with pytest.raises(BadStream, match="theirs was made by another user"):
        Beneath(tmp_path / "theirs")
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError):
        Beneath(tmp_path / "link")
    with Beneath(tmp_path / "mine"):
        pass
