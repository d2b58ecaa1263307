"""What is shown of a repository in which the user's home lies: the named part and the git folder, nothing else."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from repository_fixtures import Taken, git, write

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.find_repository import at_url, locate

Make = Callable[..., Path]
Take = Callable[..., Taken]


@pytest.fixture
def home(repository: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is a repository of settings, with one tracked project, one that is not, and a key."""
    folder = repository({".profile": "", "tracked/a.py": "x = 1\n"}, name="home")
    write(folder, {".ssh/key": "secret", "apart/b.py": "y = 1\n"})
    monkeypatch.setenv("HOME", str(folder))
    return folder


def test_only_the_named_part_of_a_repository_is_shown(home: Path) -> None:
    assert locate(home / "tracked").shown() == {"/source/tracked": home / "tracked", "/source/.git": home / ".git"}
    assert locate(home).shown() == {"/source": home}, "the user named it"
    inner = write(home / "own", {"deep/c.py": ""})
    git(inner, "init", "--quiet")
    assert locate(inner / "deep").shown() == {"/source/deep": inner / "deep", "/source/.git": inner / ".git"}


def test_a_folder_in_a_git_folder_is_a_plain_one(home: Path, tmp_path: Path) -> None:
    """A few files make a git folder of any folder, perhaps of the home."""
    git(tmp_path, "clone", "--quiet", "--bare", str(home), "bare")
    project = write(tmp_path / "bare" / "project", {"a.py": ""})
    assert locate(project).shown() == {"/source": project} and locate(project).git == ""
    assert locate(tmp_path / "bare").git == "/source"


def test_of_a_worktrees_git_folder_only_what_git_reads_is_shown(home: Path, tmp_path: Path) -> None:
    """The git folder may be the folder around, with everything else that the user keeps there."""
    git(tmp_path, "clone", "--quiet", "--bare", str(home), "bare")
    bare = write(tmp_path / "bare", {"private/key": "secret", "hooks/post-checkout": ""})
    git(bare, "worktree", "add", "--quiet", "--detach", "main")
    parts = ("objects", "refs", "packed-refs", "config", "worktrees/main")
    assert locate(bare / "main").shown() == {
        "/source": bare / "main",
        **{f"/common/{part}": bare / part for part in parts},
    }


def test_a_git_folder_whose_parts_are_links(home: Path, tmp_path: Path) -> None:
    git(home, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    (home / ".git" / "refs").rename(home / "elsewhere")
    (home / ".git" / "refs").symlink_to(home / "elsewhere")
    with pytest.raises(SourceError, match="refs is a link to"):
        locate(tmp_path / "tree").shown()


@pytest.mark.slow
def test_projects_in_such_a_home_are_read(home: Path, taken: Take) -> None:
    write(home, {"tracked/new.py": ""})
    one = taken(home / "tracked")
    assert list(one.found.tracked) == ["a.py"] and one.git("log", "--format=%s") == "commit 0"
    assert "1 uncommitted change was not taken (tracked/new.py)" in one.found.notes[1]
    other = taken(home / "apart")
    assert (
        list(other.found.tracked) == ["b.py"] and "is not tracked by the repository around it" in other.found.notes[0]
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_user_s_repository_around_a_folder_does_not_say_what_is_in_it(tmp_path: Path) -> None:
    """As git: `nobody` made a git folder in `/tmp`, where the user's own project lies."""
    project = write(tmp_path / "shared" / "project", {"a.py": ""})
    around = project.parent / ".git"
    around.mkdir()
    os.chown(project, 4321, 4321)
    for owner in (0, 4321):
        os.chown(around, owner, owner)
        assert locate(project).subfolder == "project"
    os.chown(around, 65534, 65534)
    with pytest.raises(SourceError, match=r"lies in a repository of another user, .*/shared \(uid 65534\)"):
        locate(project)
    assert locate(project.parent).root == project.parent, "the user named it"
    write(project, {".git/HEAD": ""})
    assert locate(project).root == project


@pytest.mark.parametrize("path", ["/", "//", "//."])
def test_a_url_of_the_whole_machine_is_no_repository(path: str) -> None:
    """Its path has no name to put `.git` behind."""
    assert at_url(Path(path)) is None
