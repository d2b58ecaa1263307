"""The calls that a confined thread may not make, though Landlock lets them pass."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from filter_programs import ALLOW, AUDIT, answer, libseccomp_numbers

from selfplay.confinement import confined
from selfplay.confinement.landlock import landlock_version
from selfplay.confinement.refused_calls import CALLS, COLUMNS, program

EPERM = 1


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock: doctor says so")
@pytest.mark.parametrize(
    "call",
    [
        lambda file: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        lambda file: socket.socket(socket.AF_UNIX),
        lambda file: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        lambda file: file.chmod(0o777),
        lambda file: os.chown(file, 1, 1),
        lambda file: os.chown(file, 1, 1, follow_symlinks=False),
        lambda file: os.utime(file, (0, 0)),
        lambda file: os.setxattr(file, "user.told", b"x"),
    ],
)
def test_what_reaches_outside_without_opening_is_refused(call: Callable[[Path], object], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    before = file.stat()
    with pytest.raises(PermissionError):
        confined(lambda: call(file), [tmp_path], [tmp_path])
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (before.st_mode, before.st_uid, before.st_mtime_ns)
    call(file)  # elsewhere it is made


@pytest.mark.parametrize("machine", COLUMNS)
def test_the_filter_refuses_these_calls_and_no_other(machine: str) -> None:
    column, audit = COLUMNS.index(machine), AUDIT[machine]
    refused = {numbers[column] for numbers in CALLS.values()} - {None}
    lines = program(machine)
    assert {number for number in range(600) if answer(lines, audit, number) == EPERM} == refused
    assert all(answer(lines, audit, number) == ALLOW for number in range(600) if number not in refused)
    assert answer(lines, audit, 0x40000000 + 41) == EPERM  # x32
    assert all(answer(lines, other, 0) == EPERM for name, other in AUDIT.items() if name != machine)


@pytest.mark.parametrize("machine", COLUMNS)
def test_every_number_is_the_one_libseccomp_has(machine: str) -> None:
    newer = {"fchmodat2", "setxattrat", "removexattrat"}  # Linux 6.6 and 6.13: scripts/syscall.tbl
    theirs = libseccomp_numbers(machine, CALLS)
    for name, numbers in CALLS.items():
        known = theirs[name] if theirs[name] >= 0 else None
        assert numbers[COLUMNS.index(machine)] == known or (name in newer and theirs[name] == -1), name


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert program("riscv64") == b""
