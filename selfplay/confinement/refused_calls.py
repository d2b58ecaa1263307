"""Takes from a thread the calls that reach outside without opening anything there: sockets of any kind, and changes of
a file's mode, owner, times or attributes by its path. Classic BPF, as `sandbox/seccomp.py` has it for commands.

A refused call fails with EPERM. Numbers of another architecture are refused as a whole: none of ours makes such a call.
"""

import ctypes
import errno
import platform
from typing import Final

from selfplay.bpf import (
    ALLOW,
    ARCHITECTURE,
    AUDIT,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    LOAD,
    NUMBER,
    RETURN,
    X32,
    instruction,
    refuse,
)  # fmt: skip

CALLS: Final = {
    "socket": (41, 198), "io_uring_setup": (425, 425), "chmod": (90, None), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "removexattrat": (466, 466),
}  # fmt: skip
"""Name -> number on x86-64 and on aarch64; None: it has no such call there."""
COLUMNS: Final = ("x86_64", "aarch64")
PR_SET_SECCOMP, FILTER = 22, 2


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def refuse_calls() -> None:
    """Refuse `CALLS` to this thread and to those that it starts, which may gain no privileges (`landlock`). It cannot
    be undone. Raises `OSError` if the kernel refuses."""
    lines = program(platform.machine())
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if lines and prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(_BpfProgram(len(lines) // 8, lines)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls is refused")


def program(machine: str) -> bytes:
    """The filter; empty for a machine whose numbers are not known."""
    if machine not in COLUMNS:
        return b""
    column = COLUMNS.index(machine)
    numbers = [number for both in CALLS.values() if (number := both[column]) is not None]
    refused = len(numbers) + 1  # lines from the first comparison to the last line but one, which allows
    lines = [
        instruction(LOAD, ARCHITECTURE),
        instruction(JUMP_EQUAL, AUDIT[machine], 0, refused + 2),
        instruction(LOAD, NUMBER),
        instruction(JUMP_AT_LEAST, X32, refused),
        *(instruction(JUMP_EQUAL, number, refused - 1 - at) for at, number in enumerate(numbers)),
        instruction(RETURN, ALLOW),
        refuse(errno.EPERM),
    ]
    return b"".join(lines)
