import multiprocessing
import os
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.trust import state_folder
from selfplay.repository.cache import build_once, check_cache, default_cache, why_unusable
from selfplay.repository.errors import CacheError


def test_a_failed_build_leaves_nothing_and_a_later_one_works(tmp_path: Path) -> None:
    def fail(staging: Path) -> None:
        (staging / "part").touch()
        raise ValueError

    with pytest.raises(ValueError):
        build_once(tmp_path / "key", fail, print)
    assert [path.name for path in tmp_path.iterdir()] == ["key.lock"]
    assert build_once(tmp_path / "key", lambda staging: (staging / "done").touch(), print) == tmp_path / "key"
    build_once(tmp_path / "key", fail, print)  # there already: not built again


def _slow(final: Path, started: Path, go: Path) -> None:
    """A build that goes on until there is a file `go`."""

    def build(staging: Path) -> None:
        (staging / "part").touch()
        started.touch()
        _wait(go)

    build_once(final, build, lambda line: None)


def _wait(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _building(folder: Path) -> BaseProcess:
    """Another process that builds `k`, and has begun."""
    process = multiprocessing.get_context("fork").Process(
        target=_slow, args=[folder / name for name in ("k", "started", "go")]
    )
    process.start()
    _wait(folder / "started")
    return process


def test_a_killed_builder_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    process = _building(tmp_path)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert not (tmp_path / "k").exists() and list(tmp_path.glob(".k.*"))
    build_once(tmp_path / "k", lambda staging: None, print)
    assert not list(tmp_path.glob(".k.*"))


def test_a_second_builder_waits_and_says_so(tmp_path: Path) -> None:
    process = _building(tmp_path)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        (tmp_path / "go").touch()  # the first builder ends when the second has said that it waits

    build_once(tmp_path / "k", lambda staging: pytest.fail("built twice"), say)
    process.join()
    assert len(said) == 1 and "waiting" in said[0]


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELFPLAY_CACHE", str(tmp_path / "here"))
    assert default_cache() == tmp_path / "here"
    monkeypatch.setenv("SELFPLAY_CACHE", "~nosuchuser/here")
    with pytest.raises(CacheError, match="'~nosuchuser/here': no home of a user is known"):
        default_cache()
    (tmp_path / "file").touch()
    with pytest.raises(CacheError, match="cannot be used: Not a directory"):
        check_cache(tmp_path / "file" / "below")


def test_a_user_without_a_home_is_told_what_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that is run for any user (`docker run -u 12345`)."""
    for name in ("HOME", "SELFPLAY_CACHE", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("getuid", "geteuid"):
        monkeypatch.setattr(os, name, lambda: 12345)
    with pytest.raises(CacheError, match="this user has no home, and so no folder for a cache") as refused:
        default_cache()
    assert refused.value.hint == "Name one in SELFPLAY_CACHE."
    with pytest.raises(CurriculumError, match="this user has no home, and so no folder for notes") as refused:
        state_folder()
    assert refused.value.hint == "Name one in XDG_STATE_HOME."


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_cache_of_another_user_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """He put a link in the place of a lock that he had seen there: the file it led to was emptied."""
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o777)
    monkeypatch.setenv("SELFPLAY_CACHE", str(theirs))
    check_cache(default_cache())
    os.chown(theirs, 4321, 4321)
    for cache in (theirs, theirs / "below"):
        with pytest.raises(CacheError, match=r"another user, .*4321|belongs to another user \(uid 4321\)") as refused:
            check_cache(cache)
        assert refused.value.hint == "Set SELFPLAY_CACHE to a folder of your own."
        assert "uid 4321" in why_unusable(cache)


def test_a_lock_is_neither_a_link_nor_emptied(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("a line")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "k.lock").symlink_to(precious)
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        build_once(tmp_path / "cache" / "k", lambda staging: None, print)
    assert precious.read_text() == "a line"
    (tmp_path / "cache" / "l.lock").write_text("of an earlier version")
    assert build_once(tmp_path / "cache" / "l", lambda staging: None, print).is_dir()
