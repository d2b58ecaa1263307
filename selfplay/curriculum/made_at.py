"""When a folder was made, by the file system: Python asks for it from 3.15 on."""

import ctypes
import os
import struct
from pathlib import Path

AT_FDCWD, STATX_BTIME, SIZE = -100, 0x800, 256
MASK, SECONDS = 0, 80
"""Places in `struct statx`: what the kernel filled in, and the time (seconds, nanoseconds)."""


def made_at(path: Path) -> int:
    """Nanoseconds since 1970; 0 where the file system does not know. Raises `OSError`."""
    told = ctypes.create_string_buffer(SIZE)
    if ctypes.CDLL(None, use_errno=True).statx(AT_FDCWD, os.fsencode(path), 0, STATX_BTIME, told) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(path))
    if not struct.unpack_from("I", told, MASK)[0] & STATX_BTIME:
        return 0
    seconds, part = struct.unpack_from("qI", told, SECONDS)
    return int(seconds) * 1_000_000_000 + int(part)
