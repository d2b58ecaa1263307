"""Classic BPF, in which filters of system calls are written: its lines, what they may load, what they answer."""

import struct
from typing import Final

LOAD, JUMP_EQUAL, JUMP_SET, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, (16, 24, 32, 40)  # offsets in struct seccomp_data, little endian
X32: Final = 0x40000000
"""Numbers from here on are those of another form of the calls on x86-64."""
AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machine -> its number in linux/audit.h."""


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One `struct sock_filter`."""
    return struct.pack("<HBBI", code, if_true, if_false, value)


def refuse(number: int) -> bytes:
    """Return from the filter: the call fails with this errno."""
    return instruction(RETURN, ERRNO | number)
