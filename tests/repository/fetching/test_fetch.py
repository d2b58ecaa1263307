"""What a source is found to be: real repositories, read in real sandboxes."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repository_fixtures import Taken, git, write

from selfplay.curriculum.untrusted_sqlite import DATABASE
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching import quarantine, uncommitted
from selfplay.repository.fetching.history import climbs, leaves
from selfplay.sandbox import SandboxLost

Make = Callable[..., Path]
Take = Callable[..., Taken]


def test_a_checkout_is_taken_at_head_with_its_past(repository: Make, taken: Take) -> None:
    folder = repository({"a.py": "1\n"}, {"a.py": "2\n", "b.py": ""})
    one = taken(folder)
    assert one.found.commit == git(folder, "rev-parse", "HEAD")
    assert sorted(one.found.tracked) == ["a.py", "b.py"] == sorted(path.name for path in one.tree.iterdir())
    assert one.git("rev-list", "--count", "HEAD") == "2"
    assert one.git("status", "--short") == ""
    assert one.found.notes == ()


def test_uncommitted_changes_are_noted_and_not_taken(repository: Make, taken: Take) -> None:
    folder = repository({"a.py": "1\n", ".gitignore": "*.log\n"})
    write(folder, {"a.py": "changed\n", "new.py": "", "x.log": ""})
    one = taken(folder)
    assert (one.tree / "a.py").read_text() == "1\n"
    assert one.found.notes == ("2 uncommitted changes were not taken (a.py, new.py): commit them to include them",)


def test_nothing_of_a_checkout_runs(repository: Make, taken: Take, tmp_path: Path) -> None:
    """Hooks, filters, fsmonitor and pack hooks of the source would each leave a file, on the host or in the tree."""
    folder = repository({"a.txt": "text\n", ".gitattributes": "*.txt filter=evil\n"})
    trap = f"touch {tmp_path}/ran /testbed/work/tree/ran; cat"
    for key in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "uploadpack.packObjectsHook"):
        git(folder, "config", key, trap)
    git(folder, "config", "filter.evil.required", "true")
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        path = folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{trap}\n")
        path.chmod(0o755)
    (folder / "a.txt").write_text("changed\n")
    one = taken(folder)
    assert (one.tree / "a.txt").read_text() == "text\n"
    assert not (tmp_path / "ran").exists() and not (one.tree / "ran").exists()


@pytest.mark.slow
def test_a_plain_folder_is_one_commit_with_a_repeatable_id(tmp_path: Path, taken: Take) -> None:
    folder = write(tmp_path / "pl äce", {"a.py": "", ".gitignore": "skip\n", "skip": "", "__pycache__/a.pyc": ""})
    os.mkfifo(folder / "pipe")
    first, second = (taken(folder).found for _ in range(2))
    assert first.commit == second.commit
    assert sorted(first.tracked) == [".gitignore", "a.py"]
    assert first.notes == ("1 special or unreadable file was left out (pipe)",)


def test_a_subfolder_keeps_only_its_history(repository: Make, taken: Take) -> None:
    folder = repository({"pkg/a.py": "1\n"}, {"other.py": ""}, {"pkg/a.py": "2\n"})
    one = taken(folder / "pkg")
    assert list(one.found.tracked) == ["a.py"]
    assert one.git("log", "--format=%s").splitlines() == ["commit 2", "commit 0"]
    assert f"is a sub-folder of {folder}" in one.found.notes[0]


def test_an_empty_folder(tmp_path: Path, taken: Take) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no files"):
        taken(tmp_path / "empty")


def test_a_repository_without_commits_is_a_plain_folder(repository: Make, taken: Take) -> None:
    folder = repository()
    write(folder, {"a.py": ""})
    found = taken(folder).found
    assert list(found.tracked) == ["a.py"] and "has no commit yet" in found.notes[0]


@pytest.mark.slow
def test_a_url_at_a_tag_a_branch_and_a_short_commit(repository: Make, taken: Take) -> None:
    folder = repository({"a.py": "1\n"}, {"a.py": "2\n"}, {"a.py": "3\n"})
    git(folder, "tag", "v1.5", "HEAD~1")
    git(folder, "branch", "old/er", "HEAD~2")
    want = {"v1.5": "HEAD~1", "old/er": "HEAD~2", git(folder, "rev-parse", "--short", "HEAD~1"): "HEAD~1"}
    for revision, commit in want.items():
        found = taken(f"file://{folder}@{revision}").found
        assert found.commit == git(folder, "rev-parse", commit)
        assert (found.revision, found.version) == (revision, "1.5")


def test_unknown_revisions_and_unreachable_urls_are_named(repository: Make, taken: Take, tmp_path: Path) -> None:
    folder = repository({"a.py": ""})
    with pytest.raises(SourceError, match="has no revision 'nowhere'"):
        taken(f"file://{folder}@nowhere")
    with pytest.raises(SourceError, match=r"cannot be fetched: .*does not appear to be a git repository"):
        taken(f"file://{tmp_path}/absent")


def with_submodule(repository: Make, url: str | None = None) -> tuple[Path, Path]:
    inner = repository({"lib.py": "x = 1\n"}, name="inner")
    outer = repository({"a.py": ""}, name="outer")
    named = url or str(inner)
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", named, "vendor/inner")
    git(outer, "commit", "--quiet", "-m", "submodule")
    return inner, outer


def test_a_submodule_becomes_a_folder(repository: Make, taken: Take) -> None:
    _, outer = with_submodule(repository)
    one = taken(outer)
    assert set(one.found.tracked) == {".gitmodules", "a.py", "vendor/inner/lib.py"} and one.found.notes == ()
    assert (one.tree / "vendor" / "inner" / "lib.py").read_text() == "x = 1\n"


def test_a_submodules_own_folder_is_a_source(repository: Make, taken: Take) -> None:
    inner, outer = with_submodule(repository)
    found = taken(outer / "vendor" / "inner").found
    assert found.commit == git(inner, "rev-parse", "HEAD") and list(found.tracked) == ["lib.py"]


def test_a_worktree_and_its_submodules_are_sources(repository: Make, taken: Take, tmp_path: Path) -> None:
    _, outer = with_submodule(repository)
    git(outer, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    git(tmp_path / "tree", "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    (tmp_path / "tree" / "new.py").touch()
    found = taken(tmp_path / "tree").found
    assert found.commit and set(found.tracked) == {".gitmodules", "a.py", "vendor/inner/lib.py"}
    assert found.notes == ("1 uncommitted change was not taken (new.py): commit it to include it",)


def test_runs_of_ours_in_a_checkout_are_no_uncommitted_change(repository: Make, taken: Take) -> None:
    place = repository({"a.py": "A = 1\n"})
    for run in ("runs/one", "runs/two", "own"):
        (place / run).mkdir(parents=True)
        (place / run / DATABASE).touch()
    assert uncommitted.RUN == DATABASE and taken(place).found.notes == ()
    (place / "runs" / "notes").mkdir()
    (place / "runs" / "notes" / "a.txt").touch()
    assert taken(place).found.notes == ("1 uncommitted change was not taken (runs/): commit it to include it",)


@pytest.mark.slow
def test_a_strangers_submodule_cannot_name_a_repository_of_this_machine(repository: Make, taken: Take) -> None:
    """Only the checkout beside it may be read, and there is none: not by an absolute path, not by a relative one."""
    inner, outer = with_submodule(repository)
    found = taken(f"file://{outer}").found
    assert set(found.tracked) == {".gitmodules", "a.py"}
    why = "is not fetched for a folder of this machine: name a local checkout"
    assert len(found.notes) == 1
    assert found.notes[0].startswith(f"the submodule vendor/inner is missing: {inner} {why}")
    git(outer, "config", "--file", ".gitmodules", "submodule.vendor/inner.url", "../inner")
    git(outer, "commit", "--quiet", "-am", "relative")
    assert f"../inner {why}" in taken(f"file://{outer}").found.notes[0]


def test_links_that_leave_the_tree_go(repository: Make, taken: Take) -> None:
    folder = repository({"in/a.py": "x\n"})
    links = {"ok": "in/a.py", "abs": "/etc/passwd", "up": "../outside", "in/back": "../in/a.py", "in/out": "../../x"}
    links |= {"dir": "in", "twice": "dir/../../x", "loop": "loop"}
    for name, target in links.items():
        (folder / name).symlink_to(target)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "links")
    one = taken(folder)
    # "twice" resolves to in/../../x, which is one above the root
    assert set(links) - set(one.found.tracked) == {"abs", "in/out", "twice", "up"}
    assert "4 links that leave the tree were dropped" in one.found.notes[0]
    assert one.git("rev-parse", "HEAD~1") == git(folder, "rev-parse", "HEAD")
    assert one.git("rev-parse", "HEAD^{tree}") == one.found.tree_hash
    assert {path.name for path in one.tree.iterdir()} == {"in", "ok", "dir", "loop"}


def test_names_and_contents_that_are_not_utf8(repository: Make, taken: Take) -> None:
    folder = repository({"a.py": ""})
    name = os.fsdecode(b"caf\xe9.py")
    (folder / name).write_bytes(b"\xff\xfe\r\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "latin")
    one = taken(folder)
    assert (one.tree / name).read_bytes() == b"\xff\xfe\r\n" and name in one.found.tracked


def test_links_that_only_lead_to_each_other_stay_and_those_nobody_can_follow_go() -> None:
    assert not leaves("a", {"a": "b", "b": "a"})  # a loop: Linux gives up after 40 links
    assert not leaves("a", {"a": "c/" * 100 + "../" * 100 + "b"})
    assert leaves("a", {"a": "c/" * 100 + "../" * 101 + "b"})  # one folder above the root
    around = "c/../" * 800  # 1,600 steps, and nowhere
    assert leaves(
        "a", {"a": f"{around}b", "b": f"{around}d", "d": f"{around}../out"}
    )  # the third leads out, at step 4,803
    assert climbs("a/../b") and not climbs("../../a/b") and not climbs("a/./b")


def test_a_shallow_clone_has_another_past_than_the_whole(repository: Make, taken: Take, tmp_path: Path) -> None:
    """The same commit: what is kept of the one's history must not be taken for the other's."""
    folder = repository({"a.py": "1\n"}, {"a.py": "2\n"}, {"a.py": "3\n"})
    git(tmp_path, "clone", "--quiet", "--depth=1", folder.as_uri(), "shallow")
    git(tmp_path, "clone", "--quiet", folder.as_uri(), "whole")
    found = {name: taken(tmp_path / name).found for name in ("shallow", "whole")}
    assert found["shallow"].commit == found["whole"].commit
    assert found["shallow"].past != found["whole"].past == taken(folder).found.past


def test_a_machine_without_a_process_left_is_not_the_sources_fault(
    repository: Make, taken: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git could not be started: "cannot be read: name a part of it, or another release"."""
    folder = repository({"a.py": "1\n"})
    monkeypatch.setattr(quarantine, "LIMITS", replace(quarantine.LIMITS, processes=2))
    with pytest.raises(SandboxLost, match="no process could be started to read"):
        taken(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give links away")
@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_link_of_another_user_is_no_source(repository: Make, taken: Take, tmp_path: Path, form: str) -> None:
    """It led to what its owner may not read: root's copy of it went into a run, and from there to others."""
    folder = repository({"a.py": "1\n"})
    (tmp_path / "link").symlink_to(folder)
    assert taken(form.format(tmp_path / "link")).found.commit == git(folder, "rev-parse", "HEAD")
    os.chown(tmp_path / "link", 4321, 4321, follow_symlinks=False)
    with pytest.raises(SourceError, match=r"a link of another user \(uid 4321\) leads to .*/link") as refused:
        taken(form.format(tmp_path / "link"))
    assert refused.value.hint == "Name the folder that it leads to, if you mean that."
