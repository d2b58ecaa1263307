"""Trees that leave a sandbox."""

import subprocess
from pathlib import Path

import pytest

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
