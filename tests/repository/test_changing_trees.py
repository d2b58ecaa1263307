"""A tree that its owner changes while the host reads it leads to nothing that they could not read themselves."""

import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from repository_fixtures import write
from stream_frames import packed

from selfplay.artifact.reading import UntrustedDataError, listed_below
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching import copying
from selfplay.repository.fetching.copying import copied
from selfplay.repository.files.unpack import StreamBounds
from selfplay.repository.inside import pack
from selfplay.sandbox import Mount

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what is closed to all others")
OTHER = 12345
SECRET = b"nobody else may read this"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user of the machine reaches: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def tree(place: Path) -> Path:
    """A folder `a/b` with one file, and beside the tree another `b` whose file of that name is a secret."""
    write(place / "secret", {"b/file": SECRET.decode()})
    return write(place / "tree", {"a/b/file": "open", "z": "open"})


def exchange(place: Path, name: str) -> None:
    """Put a link to the secret where the folder was; once."""
    folder = place / "tree" / name
    if not folder.is_symlink():
        folder.rename(place / f"was-{name.replace('/', '-')}")
        folder.symlink_to(place / "secret" / name.removeprefix("a").strip("/"))


def before_call(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> list[int]:
    """Let `act` happen before the `number`-th system call that takes a name; returns the calls made so far."""
    calls = [0]
    for name in ("open", "readlink", "stat", "scandir"):
        real = getattr(os, name)

        def counted(*args: Any, _real: Any = real, **options: Any) -> Any:
            calls[0] += 1
            if calls[0] == number:
                calls[0] += 1_000_000  # what `act` calls is not counted
                act()
            return _real(*args, **options)

        monkeypatch.setattr(pack.os, name, counted)
    return calls


@pytest.mark.parametrize("name", ["a", "a/b"])
@pytest.mark.parametrize("chosen", [None, [b"a/b/file", b"z"]])
def test_a_folder_exchanged_for_a_link_at_any_step(name: str, chosen: list[bytes] | None, tmp_path: Path) -> None:
    steps = 0
    for number in range(1, 100):
        place = tmp_path / str(number)
        tree(place)
        with pytest.MonkeyPatch.context() as patch:
            calls = before_call(patch, number, lambda place=place: exchange(place, name))  # type: ignore[misc]
            sent = packed(place / "tree", chosen)
        if calls[0] < number:
            break
        steps += 1
        assert SECRET not in sent, f"the exchange before call {number}"
        assert sent.endswith(pack.head(pack.END, b"", 0))
    assert 5 < steps < 99


def test_measuring_never_leaves_the_tree(tmp_path: Path) -> None:
    """A link to a folder of 100 files in the place of one that was just listed: five entries are there at most."""
    bounds = StreamBounds(bytes=1 << 30, entries=5)
    for number in range(1, 20):
        place = tmp_path / str(number)
        tree(place)
        write(place / "secret" / "b", {str(one): "" for one in range(100)})
        with pytest.MonkeyPatch.context() as patch:
            before_call(patch, number, lambda place=place: exchange(place, "a/b"))  # type: ignore[misc]
            copying.measure([place / "tree"], bounds, time.monotonic() + 60)


@ROOT
def test_root_copies_what_the_owner_can_read_and_nothing_else(place: Path) -> None:
    folder = tree(place)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, OTHER, OTHER)
    (folder / "z").chmod(0o600)
    (place / "copies").mkdir()
    mounts = (Mount(folder, "/source"),)
    (one,) = copied(mounts, OTHER, place / "copies", (0, 0), "it", 60.0)
    assert (one.source / "z").read_text() == "open" and (one.source / "a/b/file").read_text() == "open"
    shutil.rmtree(one.source)

    closed = place / "secret" / "b" / "file"
    closed.chmod(0o600)
    (folder / "a" / "hard").hardlink_to(closed)
    with pytest.raises(SourceError, match="its owner cannot read 'a/hard'"):
        copied(mounts, OTHER, place / "copies", (0, 0), "it", 60.0)
    shutil.rmtree(place / "copies")
    (place / "copies").mkdir()

    os.chown(folder, 0, 0)
    with pytest.raises(SourceError, match="it has another owner now"):
        copied(mounts, OTHER, place / "copies", (0, 0), "it", 60.0)


@pytest.mark.slow
@ROOT
def test_a_race_for_a_second(place: Path) -> None:
    folder = tree(place)
    for number in range(30):
        write(folder, {f"d{number}/b/file": "open"})
        (folder / f"d{number}.x").symlink_to(place / "secret")
    (place / "secret").chmod(0o700)
    done = threading.Event()

    def flip() -> None:
        while not done.is_set():
            for number in range(30):
                name, other, third = (folder / f"d{number}{ending}" for ending in ("", ".x", ".y"))
                name.rename(third)
                other.rename(name)
                third.rename(other)

    flipping = threading.Thread(target=flip)
    flipping.start()
    try:
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            work = Path(tempfile.mkdtemp(dir=place))
            (one,) = copied((Mount(folder, "/source"),), 0, work, (0, 0), "it", 60.0)
            contents = {path.read_bytes() for path in one.source.rglob("*") if stat.S_ISREG(path.lstat().st_mode)}
            assert contents == {b"open"}
    finally:
        done.set()
        flipping.join()


def test_listing_below_a_run_goes_through_no_link(tmp_path: Path) -> None:
    answers = []
    for number in range(1, 9):
        run = tree(tmp_path / str(number))
        write(run.parent / "secret", {"b/hidden": ""})
        with pytest.MonkeyPatch.context() as patch:
            before_call(patch, number, lambda run=run: exchange(run.parent, "a"))  # type: ignore[misc]
            try:
                answers.append(listed_below(run, "a", "b"))
            except UntrustedDataError as error:
                assert error.message.endswith(("is not a folder", "cannot be read: Not a directory"))
    assert ["file"] in answers and ["file", "hidden"] not in answers
