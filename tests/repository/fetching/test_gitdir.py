import os
from pathlib import Path

import pytest

from selfplay import subprocesses
from selfplay.repository.fetching.gitdir import GitDir, GitError
from selfplay.repository.fetching.running import OutOfBounds, ProgramBounds, execute


def test_a_tree_is_written_to_a_folder_named_from_where_we_are(tmp_path: Path, monkeypatch) -> None:
    """`--out runs/demo` is relative: git, which runs elsewhere, must not read it from there."""
    store = GitDir.create(tmp_path / "store")
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "a.txt").write_bytes(b"1\n")
    monkeypatch.chdir(tmp_path)
    tree = store.write_folder(Path("from"))
    Path("a b/to").mkdir(parents=True)
    store.checkout(tree, Path("a b/to"))
    assert (tmp_path / "a b" / "to" / "a.txt").read_bytes() == b"1\n"


def test_a_git_that_leaves_its_bounds_ends(tmp_path: Path) -> None:
    store = GitDir.create(tmp_path / "store")
    with pytest.raises(GitError, match="wrote more than 10 bytes"):
        store.run("help", "--all", bounds=ProgramBounds(output=10))
    with pytest.raises(OutOfBounds, match="took more than 0 s"):
        execute(["sleep", "30"], tmp_path, b"", {}, ProgramBounds(seconds=0.2))
    assert execute(["sh", "-c", "head -c 1000000 /dev/zero > x"], tmp_path, b"", {}, ProgramBounds(file=65536))[0] != 0
    assert (tmp_path / "x").stat().st_size <= 65536


@pytest.mark.parametrize("lacking", [False, True])
def test_what_a_stranger_says_of_this_machine_is_asked_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: bool
) -> None:
    """A server's error, or a file of such a name, read as if no process could be started: lists of sources ended."""
    store = GitDir.create(tmp_path / "store")
    (tmp_path / "git").write_text(
        "#!/bin/sh\necho 'fatal: remote error: Resource temporarily unavailable' >&2; exit 128\n"
    )
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if lacking:
        monkeypatch.setattr(subprocesses, "can_start", lambda number: False)
    with pytest.raises(BlockingIOError if lacking else GitError, match="remote error"):
        store.run("fetch", "https://example.org/a.git")
