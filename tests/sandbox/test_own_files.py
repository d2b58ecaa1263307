"""What the kernel keeps with a file, locks and watches, is a sandbox's own: its programs and environments are the
host's files, shown through file systems of its own."""

import fcntl
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from ordinary_user import by_root

from selfplay.sandbox import Backend, Mount, World, inside, open_backend
from selfplay.sandbox.bubblewrap import BubblewrapBackend

from .attacks import SMALL, python

LOCK = """
import fcntl, os, sys
held = [os.open(place, os.O_RDONLY) for place in ("/usr/bin/env", "/env/file", "/etc/ld.so.cache")]
for file in held: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
for file in held: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
print("ready", flush=True)
if sys.argv[1:]: import time; time.sleep(1)
print("held")
"""
WATCH = """
import ctypes, select
libc = ctypes.CDLL(None, use_errno=True)
seen = libc.inotify_init1(0)
for place in (b"/usr/bin/env", b"/usr/bin", b"/env", b"/env/file", b"/etc", b"/etc/ld.so.cache"):
    assert libc.inotify_add_watch(seen, place, 0xFFF) >= 0
print("ready", flush=True)
print("seen" if select.select([seen], [], [], 1)[0] else "nothing")
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "file").write_text("a file of an environment")
    for place in (tmp_path, tmp_path / "env"):
        place.chmod(0o755)
    return World(mounts=(Mount(tmp_path / "env", "/env", own=True),))


def meanwhile(world: World, script: str, then: Callable[[], object]) -> str:
    """What the script prints after `ready`; `then` is called in between."""
    with (
        open_backend("bubblewrap").open(world, SMALL) as sandbox,
        sandbox.stream(["python3", "-c", script, "wait"], timeout=20) as said,
    ):
        assert said.readline() == b"ready\n"
        then()
        return said.read().decode()


def test_a_lock_holds_up_neither_the_host_nor_a_neighbour(world: World) -> None:
    """40,000 locks on the machine's C library made every program's start four times as slow."""

    def others() -> None:
        for place in (Path("/usr/bin/env"), world.mounts[0].source / "file"):
            with place.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open_backend("bubblewrap").open(world, SMALL) as neighbour:
            assert python(neighbour, LOCK).text == "ready\nheld\n"

    assert meanwhile(world, LOCK, others) == "held\n"


def test_who_opens_a_program_or_a_file_of_an_environment_is_not_seen(world: World) -> None:
    def others() -> None:
        for place in (Path("/usr/bin/env"), world.mounts[0].source / "file"):
            place.read_bytes()
        with open_backend("bubblewrap").open(world, SMALL) as neighbour:
            assert neighbour.run(["/usr/bin/env", "cat", "/env/file"], timeout=20).stdout.startswith(b"a file")

    assert meanwhile(world, WATCH, others) == "nothing\n"


@by_root
def test_the_devices_are_its_own_where_they_can_be_made(world: World) -> None:
    """15,000 locks on the host's `/dev/null` made each program that opens it a hundred times as slow."""
    lock = LOCK.replace('"/usr/bin/env", "/env/file"', '"/dev/null", "/dev/urandom"')

    def others() -> None:
        with Path("/dev/null").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open_backend("bubblewrap").open(world, SMALL) as neighbour:
            assert python(neighbour, lock).text == "ready\nheld\n"
            used = "echo gone >/dev/null; head -c 2 /dev/zero | wc -c; head -c 2 /dev/urandom | wc -c"
            assert neighbour.run(f"{used}; : >/dev/full && echo x >/dev/full", timeout=9).stdout == b"2\n2\n"

    assert meanwhile(world, lock, others) == "held\n"


def test_doctor_says_whose_files_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a kernel refuses such a file system, sandboxes start all the same: here none is asked for."""
    assert open_backend("bubblewrap").enforcement()["files"].startswith("file systems of its own")
    real = inside.system_part
    for own in ([], ["/proc", "/no/such/folder"]):  # an overlay of neither can be made
        monkeypatch.setattr(inside, "system_part", lambda programs, own=own: {**real(programs), "overlaid": own})
        with closing(BubblewrapBackend()) as backend:
            with backend.open(World(), SMALL) as sandbox:
                assert backend.broken_outside(sandbox, SMALL) == ""
            assert backend.enforcement()["files"] == "the host's own"


def test_a_folder_in_which_something_is_mounted_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An overlay shows the one file system: a `/usr/local` of its own would be empty."""
    monkeypatch.setattr(inside, "mounted_below", lambda folder: ("/usr/local",) if folder == "/usr" else ())
    with closing(BubblewrapBackend()) as backend:
        part = inside.system_part(backend.programs)
    assert "/usr" in part["binds"] and "/usr" not in part["overlaid"]


@by_root
def test_what_is_mounted_in_a_folder_that_is_shown_is_read_and_not_written(backend: Backend, tmp_path: Path) -> None:
    """A checkout may lie on several file systems: of those that are shown as they are, none is left out. An older
    engine makes only the uppermost read-only, whatever is asked."""
    tmp_path.chmod(0o755)
    places = [tmp_path / "shown" / "below", tmp_path / "shown" / "below" / "deep"]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "below", str(place)], check=True)
    try:
        for place in places:
            (place / "file").write_text("on a file system of its own")
            (place / "file").chmod(0o666)
        world = World(mounts=(Mount(tmp_path / "shown", "/shown"),))
        newer = closing(BubblewrapBackend()) if backend.name == "bubblewrap" else nullcontext(backend)
        with newer as opened, opened.open(world, SMALL) as sandbox:  # a launcher sees what was mounted when it started
            for place in ("/shown/below", "/shown/below/deep"):
                assert sandbox.read_file(f"{place}/file") == b"on a file system of its own"
                said = sandbox.run(f"echo x >> {place}/file; echo x > {place}/new", timeout=20).text
                assert said.count("Read-only file system") == 2, said
        assert [sorted(one.name for one in place.iterdir()) for place in places] == [["deep", "file"], ["file"]]
    finally:
        for place in reversed(places):
            subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize(
    ("mode", "above", "shown"), [(0o644, 0o755, True), (0o600, 0o755, False), (0o644, 0o700, False)]
)
def test_of_the_machine_s_settings_only_what_all_may_read_is_copied(mode: int, above: int, shown: bool) -> None:
    """A server's key may lie beside its certificate, and root reads both."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as outer:  # whose folders above all may enter
        Path(outer).chmod(above)
        folder = Path(outer, "certs")
        folder.mkdir()
        (folder / "key.pem").write_text("secret")
        (folder / "key.pem").chmod(mode)
        (folder / "link.pem").symlink_to("key.pem")
        copies: dict[str, str] = {}
        inside.copied_folder(folder, copies, {})
        assert (str(folder / "key.pem") in copies) == shown
