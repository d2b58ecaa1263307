"""Filters of system calls, run by an interpreter of classic BPF: the only way to test another machine's here."""

import ctypes
import ctypes.util
import struct
from collections.abc import Iterable

import pytest

ALLOW, KILLED = "allow", "killed"
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def answer(program: bytes, audit: int, number: int, *arguments: int) -> str | int:
    """What the kernel would do with this system call: `allow`, `killed` or an errno."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<iIQ6Q", number, audit, 0, *padded)
    instructions = list(struct.iter_unpack("<HBBI", program))
    accumulator, place = 0, 0
    while True:
        code, if_true, if_false, value = instructions[place]
        place += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif code == 0x06:
            return {0x7FFF0000: ALLOW, 0x80000000: KILLED}.get(value, value & 0xFFFF)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            place += if_true if holds else if_false


def libseccomp_numbers(machine: str, names: Iterable[str]) -> dict[str, int]:
    """libseccomp knows both machines' numbers wherever it runs; below zero: no call there, -1: newer than itself."""
    name = ctypes.util.find_library("seccomp")
    if name is None:
        pytest.skip("no libseccomp here (Debian: libseccomp2)")
    resolve = ctypes.CDLL(name).seccomp_syscall_resolve_name_arch
    resolve.argtypes, resolve.restype = [ctypes.c_uint32, ctypes.c_char_p], ctypes.c_int
    return {name: resolve(AUDIT[machine], name.encode()) for name in names}
