"""Remote repositories over ssh, whose far end is a program of this machine: what is fetched, and what is not."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repository_fixtures import Taken, git, ssh_here, write

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching import transport
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.source import GitSource
from selfplay.repository.fetching.transport import located, receive

Make = Callable[..., Path]
Take = Callable[..., Taken]


@pytest.fixture(autouse=True)
def far_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh_here(tmp_path, monkeypatch)


@pytest.mark.slow
def test_a_remote_at_head_at_a_tag_and_at_a_short_commit(repository: Make, taken: Take) -> None:
    folder = repository({"a.py": "1\n"}, {"a.py": "2\n"}, {"a.py": "3\n"})
    git(folder, "tag", "v1.5", "HEAD~1")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    short = git(folder, "rev-parse", "--short", "HEAD~1")
    for revision, commit in {"": "HEAD", "@v1.5": "HEAD~1", f"@{short}": "HEAD~1"}.items():
        one = taken(f"ssh://host{folder}{revision}")
        assert (one.found.commit, one.found.version) == (git(folder, "rev-parse", commit), "1.5")
        assert one.git("status", "--short") == ""
    with pytest.raises(SourceError, match="has no revision 'nowhere'"):
        taken(f"ssh://host{folder}@nowhere")
    with pytest.raises(SourceError, match="cannot be fetched"):
        taken(f"ssh://host{folder}-absent")


def test_the_host_keeps_one_pack_and_no_refs(repository: Make, tmp_path: Path) -> None:
    folder = repository({"a.py": "1\n"}, {"a.py": "2\n"})
    for number in range(50):
        git(folder, "branch", f"b{number}")
    store = GitDir.create(tmp_path / "store")
    commit = receive(store, GitSource(f"ssh://host{folder}", git(folder, "rev-parse", "--short", "HEAD")))
    assert commit == ""  # looked up later, inside
    files = [path.relative_to(store.path).parts for path in store.path.rglob("*") if path.is_file()]
    assert not [parts for parts in files if parts[0] == "refs"]
    assert {parts[1] for parts in files if parts[0] == "objects"} == {"pack"}


def test_a_remote_that_becomes_a_folder_of_this_machine_is_not_read(
    repository: Make, tmp_path: Path, monkeypatch
) -> None:
    """A user's `insteadOf`, like a server's redirect, may say any URL: it is refused by its protocol."""
    folder = repository({"a.py": ""})
    write(tmp_path, {"gitconfig": f'[url "{folder.as_uri()}"]\n\tinsteadOf = https://host/x\n'})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    store = GitDir.create(tmp_path / "store")
    with pytest.raises(SourceError, match="transport 'file' not allowed"):
        receive(store, GitSource("https://host/x"))
    assert located(store, GitSource("https://host/x"))[1] == ()


def test_a_pack_larger_than_the_limit_ends_the_fetch(repository: Make, tmp_path: Path, monkeypatch) -> None:
    folder = repository({"a.py": ""})
    (folder / "big").write_bytes(os.urandom(4 << 20))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "big")
    monkeypatch.setattr(transport, "FETCHING", replace(transport.FETCHING, file=1 << 20))
    store = GitDir.create(tmp_path / "store")
    with pytest.raises(SourceError, match="cannot be fetched"):
        receive(store, GitSource(f"ssh://host{folder}"))
    assert sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file()) < 2 << 20
