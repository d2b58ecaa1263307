"""Runs inside a sandbox, on the agent's bare interpreter, and tries forbidden actions. Prints `name=value` lines.

It opens things but never writes, even if it could. Arguments: the host's loopback port, the name of the host's abstract
socket, the path of a host file that must not be visible.
"""

import _ctypes
import _socket
import fcntl
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CLONE_NEWUSER = 0x10000000
AF_VSOCK = 40
LOCK = "/lock"
WRITABLE = ("/testbed", "/tmp", "/home/sandbox", "/dev", "/proc", "/sys")
"""Where the sandbox may have writable file systems of its own; what may be written in the kernel's is asked apart."""
STATUS = ("CapEff", "CapPrm", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")


def say(name: str, value: object) -> None:
    os.write(1, f"{name}={value}\n".encode())


def outcome(attempt: "Callable[..., object]", *arguments: object) -> str:
    """`open` if the attempt works, else the error's name."""
    try:
        attempt(*arguments)
    except OSError as error:
        return error.strerror or str(error)
    return "open"


def connect(family: int, address: tuple[str, int] | bytes) -> None:
    link = _socket.socket(family, 1)
    link.settimeout(0.2)
    link.connect(address)


def unshare() -> None:
    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    if _ctypes.call_function(_ctypes.dlsym(library, "unshare"), (CLONE_NEWUSER,)) != 0:
        raise OSError(1, "refused")


def others() -> list[str]:
    """The places of file systems that may be written, besides its own."""
    with open("/proc/self/mountinfo", errors="surrogateescape", newline="\n") as lines:
        fields = [line.split(" ") for line in lines]
    places = [field[4] for field in fields if "rw" in field[5].split(",")]
    return [place for place in places if not any((place + "/").startswith(own + "/") for own in WRITABLE)]


def count_forks(most: int) -> int:
    """The number of processes that can be started at once; each waits until a pipe is closed."""
    reader, writer = os.pipe()
    children = []
    for _ in range(most):
        try:
            child = os.fork()
        except OSError:
            break
        if child == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
        children.append(child)
    os.close(writer)
    for child in children:
        os.waitpid(child, 0)
    return len(children)


def look(port: int, abstract: bytes, secret: str) -> None:
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    for name in STATUS:
        say(name, lines[name].strip())
    with open("/proc/net/dev") as devices:
        say("interfaces", ",".join(line.split(":")[0].strip() for line in devices if ":" in line))
    say("loopback", outcome(connect, _socket.AF_INET, ("127.0.0.1", port)))
    say("abstract", outcome(connect, _socket.AF_UNIX, b"\0" + abstract))
    say("vsock", outcome(_socket.socket, AF_VSOCK, 1))
    for place in ("/usr", "/etc", "/"):
        say("write " + place, outcome(os.open, place, os.O_TMPFILE | os.O_WRONLY))
    for place in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/etc/passwd"):
        say("write " + place, outcome(os.open, place, os.O_WRONLY))
    say("writable", ",".join(others()).encode("ascii", "backslashreplace").decode() or "nothing else")
    say("secret", outcome(os.stat, secret))
    say("unshare", outcome(unshare))
    say("pids", sum(entry.isdigit() for entry in os.listdir("/proc")))
    space = os.statvfs("/testbed")
    say("disk", space.f_blocks * space.f_frsize)


def overlay() -> list[str]:
    """Remove a folder of the tree and make it again: it must be empty. Returns its content."""
    os.unlink("/testbed/folder/file")
    os.rmdir("/testbed/folder")
    os.mkdir("/testbed/folder")
    return os.listdir("/testbed/folder")


def linger() -> None:
    """Leave behind a process that has left its session twice and holds a lock that the host can see, and wait for
    ever."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        fcntl.flock(os.open(LOCK, os.O_RDONLY), fcntl.LOCK_EX)
    os.read(os.pipe()[0], 1)


def main() -> None:
    kind, *arguments = sys.argv[1:]
    if kind == "linger":
        linger()
    port, abstract, secret = arguments
    look(int(port), abstract.encode(), secret)
    say("overlay", overlay())
    say("forks", count_forks(64))


if __name__ == "__main__":
    main()
