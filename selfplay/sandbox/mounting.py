"""Mounts for the launcher: plain binds, and binds that show one owner of files as another.

The launcher runs on a bare interpreter, so this module imports only the standard library.
"""

import contextlib
import ctypes
import fcntl
import os
import platform
import signal
import stat
import struct
from pathlib import Path

CLONE_NEWUSER = 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC = 0x1, 0x2, 0x4, 0x8, 0x20, 0x1000, 0x4000
MNT_DETACH = 2
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
STREAMS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
TERMINALS = "newinstance,ptmxmode=0666,mode=620,max=64"  # of one number that the machine has for all
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH, MOUNT_ATTR_RDONLY, MOUNT_ATTR_IDMAP = 1, 4, 1, 0x100000
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same on every machine
ATTRIBUTES = struct.Struct("QQQQ")
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
KEYCTL, JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
INSIDE_ID = 1000
FIRST_KEPT = 200  # above the descriptors of bwrap and the agent

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> int:
    """Make one C library call. Raises `OSError` with its name."""
    result = int(getattr(libc, name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, data)
    os.close(descriptor)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2). Raises OSError naming source and target."""
    words = (os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    try:
        call("mount", *words)
    except OSError as error:
        raise OSError(error.errno, f"mounting {source} on {target}: {error.strerror}") from error


def make_place(source: str, target: str) -> None:
    """Create an empty folder or file at `target`, of the kind of `source`, to mount on."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT, 0o644))


def bind(source: str, target: str) -> None:
    """Show `source`, a folder or a file, at `target`, which is created."""
    make_place(source, target)
    mount(source, target, "", MS_BIND | MS_REC)


def own_file_system(place: str, empty: str) -> None:
    """Show a folder through a read-only overlay: what the kernel keeps with a file (locks, watches) is then this
    mount's, and nobody else's. Where the kernel or the file system refuses, the folder stays as it is. `empty`: an
    empty folder, since an overlay that cannot be written to has two."""
    with contextlib.suppress(OSError):
        mount("own", place, "overlay", MS_RDONLY, f"lowerdir={escaped(place)}:{empty}")


def own_devices(place: str, memory: str) -> None:
    """Make a whole `/dev` in the new folder `place`: devices, terminals of its own, and the folder `memory` as shared
    memory. bwrap makes one by a bind for each device, and reads all mounts after each."""
    os.mkdir(place)
    mount("devices", place, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=4096,nr_inodes=32")
    for name in DEVICES:
        own_device(f"/dev/{name}", f"{place}/{name}")
    for name, number in STREAMS.items():
        os.symlink(f"/proc/self/fd{number}", f"{place}/{name}")
    os.symlink("pts/ptmx", f"{place}/ptmx")
    for name in ("pts", "shm"):
        os.mkdir(f"{place}/{name}")
    flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC
    mount("devices", place, "", flags)  # read-only by bwrap, it would lose its devices
    mount("terminals", f"{place}/pts", "devpts", MS_NOSUID | MS_NOEXEC, TERMINALS)
    mount(memory, f"{place}/shm", "", MS_BIND)


def own_device(device: str, place: str) -> None:
    """A node of this mount namespace's own: locks and watches on the host's `/dev/null` are those of every program.
    Where it may not be made, the host's is shown."""
    try:
        os.mknod(place, stat.S_IFCHR, os.stat(device).st_rdev)
        os.chmod(place, 0o666)
    except PermissionError:
        bind(device, place)


def escaped(path: str) -> str:
    """A path in the options of an overlay, in which colons and commas part values."""
    return "".join(f"\\{letter}" if letter in "\\:," else letter for letter in path)


def pivot(root: str, old: str) -> None:
    """Make the mount at `root` this process's root, with a read-only `/dev`; the one before is at `old`, a folder in
    it."""
    read_only(f"{root}/dev")
    call("syscall", PIVOT_ROOT[platform.machine()], root.encode(), old.encode())


def read_only(target: str) -> None:
    """Make a mount, and what is mounted in it, read-only: device nodes there still work, but their times, which are
    the host's, are nobody's to set. Kernels before 5.12 cannot."""
    with contextlib.suppress(OSError):
        attributes = ATTRIBUTES.pack(MOUNT_ATTR_RDONLY, 0, 0, 0)
        call("syscall", MOUNT_SETATTR, AT_FDCWD, os.fsencode(target), AT_RECURSIVE, attributes, len(attributes))


def mapped(source: str, space: int) -> int:
    """An unattached mount of `source` that shows owners as the user namespace `space` maps them. Raises `OSError` if
    the kernel or the file system does not support it."""
    found = call("syscall", OPEN_TREE, AT_FDCWD, os.fsencode(source), OPEN_TREE_CLONE | AT_RECURSIVE | os.O_CLOEXEC)
    try:
        attributes = ATTRIBUTES.pack(MOUNT_ATTR_IDMAP, 0, 0, space)
        call("syscall", MOUNT_SETATTR, found, b"", AT_EMPTY_PATH | AT_RECURSIVE, attributes, len(attributes))
    except BaseException:
        os.close(found)
        raise
    return found


def attach(found: int, source: str, target: str) -> None:
    """Show a mount from `mapped` at `target`, which is created."""
    make_place(source, target)
    call("syscall", MOVE_MOUNT, found, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH)
    os.close(found)


def user_namespace(others: int = 0) -> None:
    """Enter a user namespace, and the namespaces `others`, in which an ordinary user has root's rights."""
    uid, gid = os.getuid(), os.getgid()
    call("unshare", CLONE_NEWUSER | others)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{INSIDE_ID} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{INSIDE_ID} {gid} 1")


def user_space(shared: int, own: int) -> int:
    """A descriptor of a user namespace that maps the owner `shared` to `own`, and leaves the other ids unchanged.
    Raises `OSError`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            call("unshare", CLONE_NEWUSER)
            os.write(writer, b"x")
            signal.pause()
        os._exit(1)
    try:
        os.close(writer)
        if not os.read(reader, 1):
            raise OSError("no user namespace can be made")
        lines = f"0 0 {shared}\n{shared} {own} 1\n{shared + 1} {shared + 1} {own - shared - 1}\n"
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{child}/{name}").write_text(lines)
        found = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)  # the descriptor keeps the namespace
        with contextlib.suppress(ChildProcessError):  # the launcher reaps its children
            os.waitpid(child, 0)
    try:
        return fcntl.fcntl(found, fcntl.F_DUPFD_CLOEXEC, FIRST_KEPT)
    finally:
        os.close(found)


def leave_session_keyring() -> None:
    """Hold none of the user's keys: a new session's ring is empty. A kernel without keys has none."""
    with contextlib.suppress(OSError):
        call("syscall", KEYCTL[platform.machine()], JOIN_SESSION_KEYRING, None, 0, 0, 0)
