import os
from collections.abc import Callable
from pathlib import Path

import pytest
from repository_fixtures import fetch_text, git, write

from selfplay.repository.errors import SourceError
from selfplay.repository.gitdir import GitDir
from selfplay.repository.history import escaping_links, leaves, tidy, write_tree

Make = Callable[..., Path]


def paths(store: GitDir, commit: str) -> list[str]:
    return [entry.path for entry in store.entries(commit)]


def test_a_checkout_is_taken_at_head_with_its_past(repository: Make, store: GitDir) -> None:
    folder = repository({"a.py": "1\n"}, {"a.py": "2\n", "b.py": ""})
    checkout = fetch_text(folder, store)
    assert checkout.commit == git(folder, "rev-parse", "HEAD")
    assert paths(store, checkout.commit) == ["a.py", "b.py"]
    assert store.line("rev-list", "--count", checkout.commit) == "2"
    assert checkout.notes == ()


def test_uncommitted_changes_are_noted_and_not_taken(repository: Make, store: GitDir) -> None:
    folder = repository({"a.py": "1\n", ".gitignore": "*.log\n"})
    write(folder, {"a.py": "changed\n", "new.py": "", "x.log": ""})
    checkout = fetch_text(folder, store)
    assert store.run("cat-file", "blob", f"{checkout.commit}:a.py") == b"1\n"
    assert checkout.notes == ("2 uncommitted changes were not taken (a.py, new.py): commit them to include them",)


def test_nothing_of_a_checkout_runs(repository: Make, store: GitDir, tmp_path: Path) -> None:
    """Hooks, filters, fsmonitor and pack hooks of the source would each leave a file."""
    folder = repository({"a.txt": "text\n", ".gitattributes": "*.txt filter=evil\n"})
    trap = f"touch {tmp_path}/ran; cat"
    for key in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "uploadpack.packObjectsHook"):
        git(folder, "config", key, trap)
    git(folder, "config", "filter.evil.required", "true")
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        path = folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{trap}\n")
        path.chmod(0o755)
    (folder / "a.txt").write_text("changed\n")
    checkout = fetch_text(folder, store)
    write_tree(store, tidy(checkout).tree_hash, tmp_path / "tree")
    assert (tmp_path / "tree" / "a.txt").read_text() == "text\n"
    assert not (tmp_path / "ran").exists()


def test_a_plain_folder_is_one_commit_with_a_repeatable_id(tmp_path: Path) -> None:
    folder = write(tmp_path / "pl äce", {"a.py": "", ".gitignore": "skip\n", "skip": "", "__pycache__/a.pyc": ""})
    os.mkfifo(folder / "pipe")
    first, second = (fetch_text(folder, GitDir.create(tmp_path / name)) for name in ("one", "two"))
    assert first.commit == second.commit
    assert paths(first.store, first.commit) == [".gitignore", "a.py"]
    assert first.notes == ("1 special or unreadable files were left out (pipe)",)


def test_a_subfolder_keeps_only_its_history(repository: Make, store: GitDir) -> None:
    folder = repository({"pkg/a.py": "1\n"}, {"other.py": ""}, {"pkg/a.py": "2\n"})
    checkout = fetch_text(folder / "pkg", store)
    assert paths(store, checkout.commit) == ["a.py"]
    assert store.line("log", "--format=%s", checkout.commit).splitlines() == ["commit 2", "commit 0"]
    assert "sub-folder" in checkout.notes[0]


def test_an_empty_folder_and_a_missing_one(tmp_path: Path, store: GitDir) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no files"):
        fetch_text(tmp_path / "empty", store)


def test_a_repository_without_commits_is_a_plain_folder(repository: Make, store: GitDir) -> None:
    folder = repository()
    write(folder, {"a.py": ""})
    checkout = fetch_text(folder, store)
    assert paths(store, checkout.commit) == ["a.py"] and "has no commit yet" in checkout.notes[0]


def test_a_url_at_a_tag_a_branch_and_a_short_commit(repository: Make, tmp_path: Path) -> None:
    folder = repository({"a.py": "1\n"}, {"a.py": "2\n"}, {"a.py": "3\n"})
    git(folder, "tag", "v1.5", "HEAD~1")
    git(folder, "branch", "old/er", "HEAD~2")
    want = {"v1.5": "HEAD~1", "old/er": "HEAD~2", git(folder, "rev-parse", "--short", "HEAD~1"): "HEAD~1"}
    for number, (revision, commit) in enumerate(want.items()):
        checkout = fetch_text(f"file://{folder}@{revision}", GitDir.create(tmp_path / str(number)))
        assert checkout.commit == git(folder, "rev-parse", commit)
        assert (checkout.revision, checkout.version) == (revision, "1.5")


def test_unknown_revisions_and_unreachable_urls_are_named(repository: Make, store: GitDir, tmp_path: Path) -> None:
    folder = repository({"a.py": ""})
    with pytest.raises(SourceError, match="has no revision 'nowhere'"):
        fetch_text(f"file://{folder}@nowhere", store)
    with pytest.raises(SourceError, match=r"cannot be fetched: .*does not appear to be a git repository"):
        fetch_text(f"file://{tmp_path}/absent", store)


def test_a_submodule_becomes_a_folder(repository: Make, store: GitDir) -> None:
    inner = repository({"lib.py": "x = 1\n"}, name="inner")
    outer = repository({"a.py": ""}, name="outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "vendor/inner")
    git(outer, "commit", "--quiet", "-m", "submodule")
    tidied = tidy(fetch_text(outer, store))
    assert set(tidied.tracked) == {".gitmodules", "a.py", "vendor/inner/lib.py"} and tidied.notes == ()


def test_a_strangers_submodule_cannot_name_a_repository_of_this_machine(repository: Make, store: GitDir) -> None:
    """The URL in .gitmodules is absolute and local: only the checkout beside it may be read, and it is not there."""
    inner = repository({"secret.py": ""}, name="inner")
    outer = repository({"a.py": ""}, name="outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(outer, "commit", "--quiet", "-m", "submodule")
    tidied = tidy(fetch_text(f"file://{outer}", store))
    assert set(tidied.tracked) == {".gitmodules", "a.py"}
    assert tidied.notes == (f"the submodule sub is missing: {inner} cannot be fetched",)


def test_links_that_leave_the_tree_go(repository: Make, store: GitDir, tmp_path: Path) -> None:
    folder = repository({"in/a.py": "x\n"})
    links = {"ok": "in/a.py", "abs": "/etc/passwd", "up": "../outside", "in/back": "../in/a.py", "in/out": "../../x"}
    links |= {"dir": "in", "twice": "dir/../../x", "loop": "loop"}
    for name, target in links.items():
        (folder / name).symlink_to(target)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "links")
    checkout = fetch_text(folder, store)
    # "twice" resolves to in/../../x, which is one above the root
    assert sorted(escaping_links(store, checkout.commit)) == ["abs", "in/out", "twice", "up"]
    tidied = tidy(checkout)
    assert "4 links that leave the tree were dropped" in tidied.notes[0]
    assert store.line("rev-parse", f"{tidied.commit}~1") == checkout.commit
    assert store.tree_of(tidied.commit) == tidied.tree_hash


def test_names_and_contents_that_are_not_utf8(repository: Make, store: GitDir, tmp_path: Path) -> None:
    folder = repository({"a.py": ""})
    name = os.fsdecode(b"caf\xe9.py")
    (folder / name).write_bytes(b"\xff\xfe\r\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "latin")
    tidied = tidy(fetch_text(folder, store))
    write_tree(store, tidied.tree_hash, tmp_path / "tree")
    assert (tmp_path / "tree" / name).read_bytes() == b"\xff\xfe\r\n"


def test_links_that_only_lead_to_each_other_stay_and_those_nobody_can_follow_go() -> None:
    assert not leaves("a", {"a": "b", "b": "a"})  # a loop: Linux gives up after 40 links
    assert not leaves("a", {"a": "c/" * 100 + "../" * 100 + "b"})
    assert leaves("a", {"a": "c/" * 100 + "../" * 101 + "b"})  # one folder above the root
    around = "c/../" * 800  # 1,600 steps, and nowhere
    assert leaves(
        "a", {"a": f"{around}b", "b": f"{around}d", "d": f"{around}../out"}
    )  # the third leads out, at step 4,803
