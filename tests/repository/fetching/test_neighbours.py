"""Uses of one repository in another's place that a user has every right to: they go on beside the hostile ones."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from repository_fixtures import Taken, git, write

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.copying import copied
from selfplay.repository.fetching.hard_links import is_object
from selfplay.sandbox import Mount

Make = Callable[..., Path]
Take = Callable[..., Taken]
OWNER = (os.geteuid(), os.getegid())


def test_worktrees_in_and_of_a_bare_repository(repository: Make, taken: Take, tmp_path: Path) -> None:
    folder = repository({"a.py": "", "pkg/b.py": "", ".gitignore": "*.log\n"})
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), "bare")
    git(tmp_path / "bare", "worktree", "add", "--quiet", "--detach", "main")
    main = write(tmp_path / "bare" / "main", {"pkg/x.log": "", "pkg/new.py": ""})
    found = taken(main).found
    assert set(found.tracked) == {"a.py", "pkg/b.py", ".gitignore"}
    part = taken(main / "pkg").found
    assert list(part.tracked) == ["b.py"] and "1 uncommitted change was not taken (pkg/new.py)" in part.notes[1]


def test_what_is_ignored_above_a_named_part_is_no_uncommitted_change(repository: Make, taken: Take) -> None:
    folder = repository({"pkg/[1]/b.py": "", ".gitignore": "*.log\n", "pkg/.gitignore": "*.txt\n"})
    write(folder, {"pkg/[1]/x.log": "", "pkg/[1]/x.txt": ""})
    found = taken(folder / "pkg" / "[1]").found
    assert len(found.notes) == 1 and "is a sub-folder of" in found.notes[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what is closed to all others")
def test_a_worktree_with_closed_files_is_copied(repository: Make, taken: Take, tmp_path: Path) -> None:
    """Of its git folder only parts are copied, some of which are files."""
    folder = repository({"a.py": "", "b.py": ""})
    git(folder, "pack-refs", "--all")
    git(folder, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    for path in (tmp_path / "tree" / "b.py", folder / ".git" / "packed-refs"):
        path.chmod(0o600)
    assert set(taken(tmp_path / "tree").found.tracked) == {"a.py", "b.py"}


def test_a_clone_shares_the_files_of_its_objects(repository: Make, taken: Take, tmp_path: Path) -> None:
    folder = repository({"a.py": ""})
    git(tmp_path, "clone", "--quiet", str(folder), "clone")
    objects = [path for path in (tmp_path / "clone" / ".git" / "objects").rglob("*") if path.is_file()]
    assert any(path.stat().st_nlink > 1 for path in objects), "git links them"
    assert list(taken(tmp_path / "clone").found.tracked) == ["a.py"]
    (place,) = copied((Mount(tmp_path / "clone", "/source"),), OWNER[0], tmp_path, OWNER, "it", 60.0)
    assert (place.source / "a.py").exists()


def test_names_within_one_folder(taken: Take, tmp_path: Path) -> None:
    folder = write(tmp_path / "plain", {"a.py": "x = 1\n"})
    os.link(folder / "a.py", folder / "b.py")
    assert set(taken(folder).found.tracked) == {"a.py", "b.py"}


@pytest.mark.parametrize("name", ["a.py", ".git/HEAD", ".git/refs/heads/objects/x"])
def test_a_copy_hides_no_second_name(tmp_path: Path, name: str) -> None:
    """In a copy each file has one name, so it is looked at before."""
    folder = write(tmp_path / "project", {"start": ""})
    own = write(tmp_path, {"own": "secret"}) / "own"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    os.link(own, folder / name)
    with pytest.raises(SourceError, match=f"'{name}' has another name outside of it"):
        copied((Mount(folder, "/source"),), OWNER[0], tmp_path, OWNER, "it", 60.0)


@pytest.mark.parametrize(
    ("path", "said"),
    [("/source/.git/objects/ab/cd", True), ("/source/.git/modules/m/objects/x", True), ("/common/objects/ab", True),
     ("/source/objects/ab", False), ("/source/.git/refs/objects/x", False), ("/common/refs/objects", False),
     ("/source/.git/HEAD", False), ("/source/a", False)],
)  # fmt: skip
def test_what_is_an_object(path: str, said: bool) -> None:
    assert is_object(path) is said
