"""The first code in a container: unpacks the tree, installs the system-call filter, then becomes the agent.

It runs on the image's interpreter and gets everything else over standard input, so an image needs no file of ours. The
filter is the same as bubblewrap's, in addition to the engine's.
"""

import _ctypes
import posix
import sys

from selfplay.sandbox.messages import END, ENTRY, FOLDER, LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
INSTRUCTION_BYTES = 8
OLDEST_PYTHON = (3, 9)


# The Python half of ctypes has these three, but importing it would cost 4 ms per start.
class Short(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "H"


class Pointer(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "z"


class Program(_ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", Short), ("instructions", Pointer))


def unpack(stream: "BinaryIO", root: bytes) -> None:
    """Write the files that `layers.MergedTree.packed` sent below `root`. Folders get their modes last, because some
    forbid writing."""
    folders = []
    while True:
        kind, mode, mtime, path_bytes, size = ENTRY.unpack(stream.read(ENTRY.size))
        if kind == END:
            break
        path = root + b"/" + stream.read(path_bytes)
        data = stream.read(size)
        if kind == FOLDER:
            make_folder(path)
            folders.append((path, mode, mtime))
        elif kind == LINK:
            posix.symlink(data, path)
            posix.utime(path, ns=(mtime, mtime), follow_symlinks=False)
        else:
            write(path, mode, mtime, data)
    for path, mode, mtime in reversed(folders):
        finish_folder(path, mode, mtime)


def make_folder(path: bytes) -> None:
    try:
        posix.mkdir(path, 0o700)
    except FileExistsError:
        pass  # the root itself, or a parent of a mount inside it


def finish_folder(path: bytes, mode: int, mtime: int) -> None:
    """Set mode and time of a folder. A folder above a mount belongs to the engine and stays unchanged."""
    try:
        posix.chmod(path, mode)
        posix.utime(path, ns=(mtime, mtime))
    except OSError:
        pass


def write(path: bytes, mode: int, mtime: int, data: bytes) -> None:
    descriptor = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[posix.write(descriptor, view) :]
        posix.utime(descriptor, ns=(mtime, mtime))
    finally:
        posix.close(descriptor)


def take_filter(program: bytes) -> None:
    """Install a classic BPF program as the permanent filter of this process and its children."""
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    described = Program(len(program) // INSTRUCTION_BYTES, program)
    for arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, _ctypes.byref(described), 0, 0),
    ):
        if _ctypes.call_function(prctl, arguments) != 0:
            raise OSError("the kernel refuses the system-call filter")


def main(workdir: bytes, program: bytes) -> None:
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old: 3.9 is needed")
    posix.umask(0)  # files get exact modes; the agent sets the commands' umask
    with open(0, "rb", buffering=1 << 20, closefd=False) as stream:
        unpack(stream, workdir)
    take_filter(program)
