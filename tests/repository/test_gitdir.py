from pathlib import Path

import pytest

from selfplay.repository.gitdir import GitDir


def test_a_tree_is_written_to_a_folder_named_from_where_we_are(
    store: GitDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--out runs/demo` is relative: git, which runs elsewhere, must not read it from there."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "a.txt").write_bytes(b"1\n")
    monkeypatch.chdir(tmp_path)
    tree = store.write_folder(Path("from"))
    Path("a b/to").mkdir(parents=True)
    store.checkout(tree, Path("a b/to"))
    assert (tmp_path / "a b" / "to" / "a.txt").read_bytes() == b"1\n"
