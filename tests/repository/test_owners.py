"""Checkouts of another owner: read, for the one command alone, and without a word in anybody's configuration."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from repository_fixtures import Taken, git, take

from selfplay.repository.fetching import fetch
from selfplay.sandbox.bubblewrap import BubblewrapBackend

Make = Callable[..., Path]
Take = Callable[..., Taken]
OTHER = 65534


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user of the machine reaches: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def given(folder: Path) -> Path:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
    return folder


def checked(one: Taken, folder: Path) -> None:
    assert one.found.commit == git(folder, "-c", f"safe.directory={folder}", "rev-parse", "HEAD")
    assert list(one.found.tracked) == ["a.py"] and (one.tree / "a.py").read_text() == "x = 1\n"
    assert one.found.version == "1.5", "the tags are read too"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["checkout", "bare", "work tree", "url"])
def test_a_checkout_that_git_takes_for_somebody_elses(place, repository: Make, taken: Take, monkeypatch) -> None:
    """git's own switch for its tests, so that this one needs no second user."""
    folder = repository({"a.py": "x = 1\n"}, name="a 'quoted' name")
    git(folder, "tag", "v1.5")
    if place == "bare":
        git(folder.parent, "clone", "--quiet", "--bare", str(folder), "bare")
    if place == "work tree":
        git(folder, "worktree", "add", "--quiet", "--detach", str(folder.parent / "work tree"))
    source = {"bare": folder.parent / "bare", "work tree": folder.parent / "work tree", "url": folder.as_uri()}
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    found = taken(source.get(place, folder))
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    checked(found, folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_reads_a_users_checkout(repository: Make, taken: Take) -> None:
    folder = repository({"a.py": "x = 1\n"})
    git(folder, "tag", "v1.5")
    checked(taken(given(folder)), folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close a file to the sandbox's user")
@pytest.mark.parametrize("name", ["runs/one/pool.sqlite", "new.txt"], ids=["ignored", "new"])
def test_what_is_not_tracked_is_no_reason_to_copy_a_checkout(
    repository: Make, taken: Take, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A run's own files are its owner's alone; with many of them the next run was refused, since they were too large
    to be copied."""
    folder = repository({"a.py": "x = 1\n", ".gitignore": "runs/\n"})
    closed = folder / name
    closed.parent.mkdir(parents=True, exist_ok=True)
    with closed.open("wb") as stream:
        stream.truncate(2 << 30)
    closed.chmod(0o600)
    monkeypatch.setattr(fetch, "copied", lambda *_: pytest.fail("it was copied"))
    one = taken(folder)
    assert {*one.found.tracked} == {"a.py", ".gitignore"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close a file to the sandbox's user")
@pytest.mark.parametrize("name", ["inner/a.py", "inner", ".git/HEAD", ".git/refs"])
def test_what_is_tracked_is_copied(repository: Make, taken: Take, name: str) -> None:
    folder = repository({"inner/a.py": "x = 1\n"})
    (folder / name).chmod(0o700 if (folder / name).is_dir() else 0o600)
    one = taken(folder)
    assert (one.tree / "inner/a.py").read_text() == "x = 1\n" and not one.found.notes


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can read what is closed to all others")
@pytest.mark.parametrize("kind", ["checkout", "worktree", "folder"])
def test_root_reads_a_checkout_that_is_closed_to_all_others(
    kind, repository: Make, taken: Take, tmp_path: Path
) -> None:
    """Sandboxes run as another user than root, which could read none of it: it is copied for them first."""
    folder = repository({"a.py": "x = 1\n"})
    git(folder, "tag", "v1.5")
    source = folder
    if kind == "worktree":
        source = tmp_path / "work tree"
        git(folder, "worktree", "add", "--quiet", "--detach", str(source))
    if kind == "folder":
        shutil.rmtree(folder / ".git")
        os.mkfifo(folder / "pipe", 0o600)
    for path in (folder, *folder.rglob("*"), *source.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    one = taken(source)
    assert list(one.found.tracked) == ["a.py"] and (one.tree / "a.py").read_text() == "x = 1\n"
    assert one.found.version == (None if kind == "folder" else "1.5")
    assert (folder / "a.py").stat().st_mode & 0o777 == 0o600, "the user's own files stay as they were"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_reads_roots_checkout(repository: Make, reachable: Path, monkeypatch) -> None:
    made = repository({"a.py": "x = 1\n"})
    git(made, "tag", "v1.5")
    folder = Path(shutil.copytree(made, reachable / "project"))
    home = reachable / "home"
    home.mkdir()
    os.chown(home, OTHER, OTHER)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.setattr(tempfile, "tempdir", None)
    child = os.fork()
    if child == 0:  # no exception of this child may reach pytest
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            checked(take(folder, home / "taken", BubblewrapBackend()), folder)
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert not (home / ".gitconfig").exists()
