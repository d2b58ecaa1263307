"""What a confined call can open: a few folders, for as long as it lasts, and nothing of the network."""

import errno
import itertools
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from selfplay import confinement
from selfplay.confinement import confined, landlock, scratch
from selfplay.confinement.landlock import landlock_version

needs_landlock = pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock: doctor says so")


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A folder that may be read, with a link out of it, and a file beside it."""
    inside, outside = tmp_path / "inside", tmp_path / "secret"
    inside.mkdir()
    (inside / "own").write_text("own")
    outside.write_text("secret")
    (inside / "link").symlink_to(outside)
    return inside, outside


def denied(call: Callable[[], object], *reach: object) -> bool:
    try:
        confined(call, *reach)  # type: ignore[arg-type]
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM, errno.EXDEV)  # the latter: a name may not leave its folder
    return False


@needs_landlock
def test_what_is_beside_the_folder_cannot_be_opened_by_any_name(places: tuple[Path, Path]) -> None:
    inside, outside = places
    assert confined((inside / "own").read_text, [inside]) == "own"
    names = (
        outside,
        inside / "link",
        inside / "..",
        inside / ".." / "secret",
        Path("/proc/self/environ"),
        Path("/etc/passwd"),
    )
    for name in names:
        assert denied(lambda at=name: os.open(at, os.O_RDONLY), [inside]), name
    assert outside.read_text() == "secret"  # this thread has lost nothing


@needs_landlock
def test_nothing_is_written_but_where_it_may_be(places: tuple[Path, Path], tmp_path: Path) -> None:
    inside, outside = places
    place = tmp_path / "place"
    place.mkdir()
    for change in (
        lambda: (inside / "new").write_text("x"), lambda: outside.write_text("x"), lambda: (inside / "own").unlink(),
        lambda: (inside / "own").rename(place / "own"), lambda: os.truncate(inside / "own", 0),
        lambda: (place / "link").hardlink_to(inside / "own"),
    ):  # fmt: skip
        assert denied(change, [inside], [place])
    assert confined(lambda: (place / "made").write_text("x"), [inside], [place]) == 1
    assert confined(scratch, [], [place]) == place and scratch() is None


@needs_landlock
def test_nothing_is_reached_and_children_are_confined_too(places: tuple[Path, Path]) -> None:
    inside, outside = places
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert denied(lambda: socket.create_connection(server.getsockname(), timeout=5), [])
        assert denied(lambda: socket.create_server(("127.0.0.1", 0)), [])
    program = f"open({str(outside)!r})"
    child = confined(lambda: subprocess.run([sys.executable, "-c", program], capture_output=True), [inside])
    assert b"PermissionError" in child.stderr
    found: list[bool] = []
    inner = threading.Thread(target=lambda: found.append(denied(outside.read_text, [inside, outside])))
    confined(lambda: (inner.start(), inner.join()), [inside])
    assert found == [True]  # a call within a call cannot get back what the outer one lost


@needs_landlock
def test_a_database_attaches_no_other(places: tuple[Path, Path], tmp_path: Path) -> None:
    """SQLite opens files that are named in what it is given."""
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("create table told (what text)")

    def attached() -> None:
        with sqlite3.connect(":memory:") as database:
            database.execute("attach ? as other", (str(other),))
            database.execute("select * from other.told")

    attached()
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        confined(attached, [places[0]])


def test_what_a_call_raises_is_raised_also_an_exit() -> None:
    with pytest.raises(ZeroDivisionError):
        confined(lambda: 1 / 0, [])
    with pytest.raises(SystemExit):
        confined(lambda: sys.exit(3), [])


def test_without_landlock_the_call_is_made_as_it_is(monkeypatch: pytest.MonkeyPatch, places: tuple[Path, Path]) -> None:
    monkeypatch.setattr(confinement, "landlock_version", lambda: 0)
    assert confined(places[1].read_text, []) == "secret"


@needs_landlock
@pytest.mark.parametrize("version", range(1, landlock_version() + 1))
def test_a_kernel_of_an_earlier_version_is_asked_for_what_it_knows(
    version: int, monkeypatch: pytest.MonkeyPatch, places: tuple[Path, Path]
) -> None:
    monkeypatch.setattr(landlock, "landlock_version", lambda: version)
    inside, outside = places
    assert confined((inside / "own").read_text, [inside]) == "own"
    assert denied(outside.read_text, [inside])


@needs_landlock
def test_where_nobody_waits_any_more_the_call_has_ended(tmp_path: Path) -> None:
    """An export that was interrupted went on, and wrote anew what was removed meanwhile."""
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    signal.setitimer(signal.ITIMER_REAL, 0.2)

    def write() -> None:
        for at in itertools.count():
            (tmp_path / f"{at % 9}").write_text("x")

    try:
        with pytest.raises(KeyboardInterrupt):
            confined(write, [], [tmp_path])
    finally:
        signal.signal(signal.SIGALRM, before)
    for file in tmp_path.iterdir():
        file.unlink()
    time.sleep(0.1)
    assert not [*tmp_path.iterdir()]


@needs_landlock
def test_packages_that_are_links_can_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As uv's link mode, conda and Nix install them: the link of a file, or of a folder."""
    store, folder = tmp_path / "store", tmp_path / "packages"
    for name in ("one", "two"):
        (store / name / "inner").mkdir(parents=True)
        for file in ("__init__.py", "inner/__init__.py", "inner/late.py"):
            (store / name / file).write_text("")
    (folder / "one" / "inner").mkdir(parents=True)
    for file in ("__init__.py", "inner/__init__.py", "inner/late.py"):
        (folder / "one" / file).symlink_to(store / "one" / file)
    (folder / "two").symlink_to(store / "two")
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    for name in ("one", "two"):
        file = folder / name / "inner" / "late.py"
        assert confined(file.read_text, []) == ""
        assert denied((tmp_path / "secret").touch, [])
