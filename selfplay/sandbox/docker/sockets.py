"""Limits the memory of a container's socket buffers under control groups v1, where no engine does.

Engines accept `KernelMemoryTCP`, but runc has ignored it since 1.0. So the supervisor writes the kernel's file itself,
if it may (as root, on the engine's machine). Under v2 the buffers are part of the container's memory.
"""

import contextlib

from selfplay.sandbox.cgroup_places import mounts
from selfplay.sandbox.kernel_text import kernel_lines, kernel_text

FILE = "memory.kmem.tcp.limit_in_bytes"


def limit(id: str, pid: int, most: int) -> bool:
    """Limit the sockets of the container `id`, whose first process is `pid`; returns whether the limit holds."""
    with contextlib.suppress(OSError):
        for line in kernel_lines(f"/proc/{pid}/cgroup"):
            _, names, path = line.split(":", 2)
            if "memory" in names.split(",") and id in path:  # else the pid is of another namespace
                place, root = mounts()["memory"]
                file = place / path.removeprefix(root.rstrip("/")).lstrip("/") / FILE
                file.write_text(str(most))
                return int(kernel_text(file)) == most
    return False
