"""What is shown of a repository in which the user's home lies: the named part and the git folder, nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from repository_fixtures import Taken, git, write

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.find_repository import locate

Make = Callable[..., Path]
Take = Callable[..., Taken]


@pytest.fixture
def home(repository: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is a repository of settings, with one tracked project, one that is not, and a key."""
    folder = repository({".profile": "", "tracked/a.py": "x = 1\n"}, name="home")
    write(folder, {".ssh/key": "secret", "apart/b.py": "y = 1\n"})
    monkeypatch.setenv("HOME", str(folder))
    return folder


def test_only_the_named_part_of_a_home_is_shown(home: Path, tmp_path: Path) -> None:
    shown = {"/source/tracked": home / "tracked", "/source/.git": home / ".git"}
    assert locate(home / "tracked").shown() == shown
    assert locate(home).shown() == {"/source": home}, "the user named it"
    inner = write(home / "own", {"deep/c.py": ""})
    git(inner, "init", "--quiet")
    assert locate(inner / "deep").shown() == {"/source": inner}, "a repository of its own, which holds no home"


def test_a_home_reached_through_a_link_and_one_further_down(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert not locate(home / "apart").whole and not locate(tmp_path / "link" / "apart").whole
    monkeypatch.setenv("HOME", str(home / "users" / "me"))
    assert not locate(home / "apart").whole
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    assert locate(home / "apart").whole


def test_a_home_that_is_a_git_folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(home), "bare")
    monkeypatch.setenv("HOME", str(tmp_path / "bare"))
    with pytest.raises(SourceError, match="which is a git folder and contains your home"):
        locate(write(tmp_path / "bare" / "project", {"a.py": ""}))


@pytest.mark.slow
def test_projects_in_such_a_home_are_read(home: Path, taken: Take) -> None:
    write(home, {"tracked/new.py": ""})
    one = taken(home / "tracked")
    assert list(one.found.tracked) == ["a.py"] and one.git("log", "--format=%s") == "commit 0"
    assert "1 uncommitted changes were not taken (tracked/new.py)" in one.found.notes[1]
    other = taken(home / "apart")
    assert (
        list(other.found.tracked) == ["b.py"] and "is not tracked by the repository around it" in other.found.notes[0]
    )
