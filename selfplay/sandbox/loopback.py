"""A sandbox's network: a loopback of its own. Part of the launcher, which sends it along."""

import contextlib
import fcntl
import socket
import struct
from pathlib import Path

from selfplay.sandbox.mounting import call

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
TCP_RMEM = "4096 65536 131072"
"""The least, usual and largest number of bytes that a connection receives before somebody reads them: as long as nobody
has accepted it, they are charged to no control group."""


def own_network() -> None:
    """Enter a network namespace with a loopback, whose connections have small buffers."""
    call("unshare", CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
    with contextlib.suppress(OSError):  # an older kernel keeps one number for all
        Path("/proc/sys/net/ipv4/tcp_rmem").write_text(TCP_RMEM)
