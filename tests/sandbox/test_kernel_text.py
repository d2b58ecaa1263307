"""Names that other users choose, in what the kernel lists, stop nobody."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfplay
from selfplay.sandbox import owners
from selfplay.sandbox.kernel_text import Mounted, mount_table

SOURCES = Path(selfplay.__file__).parent
NAMED = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0)  # PR_SET_NAME
print(flush=True)
sys.stdin.read()
"""
NAMES = st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name)


def escaped(name: bytes) -> bytes:
    """As the kernel writes it (`mangle` in fs/proc_namespace.c): these four characters in octal, nothing else."""
    return re.sub(rb"[ \t\n\\]", lambda found: b"\\%03o" % found[0][0], name)


@given(st.lists(st.tuples(NAMES, NAMES, st.one_of(st.just(b""), NAMES)), max_size=4))
def test_mounts_of_any_name_are_read_as_they_are(tmp_path_factory: pytest.TempPathFactory, mounts) -> None:
    """`36 35 98:0 /root /place rw,noatime shared:1 - ext4 SOURCE rw,errors=continue`, as in proc(5)."""
    lines = [
        b"36 35 98:0 /%s /%s rw,noatime shared:1 - ext4 %s rw,errors=continue\n" % tuple(map(escaped, mount))
        for mount in mounts
    ]
    file = tmp_path_factory.getbasetemp() / "mountinfo"
    file.write_bytes(b"".join(lines))
    expected = [
        Mounted(os.fsdecode(b"/" + root), os.fsdecode(b"/" + place), "ext4", ("rw", "errors=continue"))
        for root, place, _ in mounts
    ]
    assert mount_table(file) == expected


def test_the_mounts_of_this_machine_are_those_of_findmnt() -> None:
    listed = subprocess.run(["findmnt", "-rno", "TARGET"], capture_output=True, check=True).stdout.split(b"\n")
    places = {re.sub(rb"\\x(..)", lambda found: bytes.fromhex(found[1].decode()), line) for line in listed if line}
    assert {os.fsencode(one.place) for one in mount_table()} == places


@pytest.mark.parametrize("name", [b"\xff\xfe", b") S 1 (", b"a\x0bb\x85", b"\n 1 2"])
def test_a_process_of_any_name_owns_what_it_made(name: bytes, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NAMED, name.hex()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stdout.readline()
        assert (Path(f"/proc/{process.pid}/comm").read_bytes())[: len(name)] == name
        owner = owners.identity(process.pid)
        assert re.fullmatch(rf"{process.pid}-[1-9][0-9]*", owner)
        assert not owners.dead(owner)
        folder = tmp_path / f"{owners.PREFIX}{owner}.{owners.namespace()}.x"
        folder.mkdir()
        owners.sweep(tmp_path)
        assert folder.exists()
        process.communicate()
    owners.sweep(tmp_path)
    assert not folder.exists()


@given(st.text(max_size=30))
def test_an_owner_of_any_name_is_dead_or_alive(name: str) -> None:
    assert owners.dead(name) or name == owners.identity(int(name.partition("-")[0]))


@pytest.mark.parametrize("number", ["²", "-1", "1" * 5000, "", "٣"])
def test_what_is_no_number_of_a_process_is_nobodys(number: str) -> None:
    assert owners.dead(f"{number}-1")


def test_nothing_else_reads_what_the_kernel_tells() -> None:
    """`read_text` decodes strictly, and `splitlines` cuts at characters that a name may hold."""
    reading = re.compile(r"/proc/[^\n]*(read_text|open)\(|(read_text|open)\([^\n]*/(proc|sys)/")
    own = {"sandbox/kernel_text.py", "sandbox/canary.py"}
    found = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        for line in file.read_text().splitlines()
        if reading.search(line) and "os.open" not in line and "posix.open" not in line
    }
    assert found <= own | {"curriculum/reading_bounds.py"}, found - own


def test_digits_are_those_that_int_takes() -> None:
    """`"²".isdigit()` is true, and `int("²")` raises."""
    found = [
        f"{file.relative_to(SOURCES)}: {line.strip()}"
        for file in SOURCES.rglob("*.py")
        for line in file.read_text().splitlines()
        if ".isdigit()" in line and "int(" in line
    ]
    assert not found


def test_a_process_that_cannot_be_seen_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `hidepid`, another user's: its containers were removed by whoever started next."""
    owner = owners.identity(os.getppid())
    monkeypatch.setattr(owners, "kernel_text", lambda path: (_ for _ in ()).throw(FileNotFoundError(path)))
    assert owners.identity(os.getppid()).endswith("-0")
    assert not owners.dead(owner)
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    assert owners.dead(f"{int(gone.stdout)}-12345")
