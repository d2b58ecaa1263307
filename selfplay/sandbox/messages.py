"""Messages between supervisor and agent. A message is a list of byte strings, preceded by their number and lengths.

Nothing from inside is ever unpickled, evaluated or used as a path outside. The agent imports this module, so it needs
only `struct`.
"""

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COUNT = struct.Struct("!I")
LENGTH = struct.Struct("!Q")
RUN = struct.Struct("!dQ?")  # timeout in seconds, bytes kept of each stream, merge stderr
DONE = struct.Struct("!i??dd")  # exit code, timed out, truncated, wall seconds, cpu seconds
# Processes, bytes of one file, bytes of data of one process (0: limited elsewhere), idle seconds until an agent rests
# (0: never), control groups that commands enter, descriptors of one process
SETTINGS = struct.Struct("!QQQdBI")
ENTRY = struct.Struct("!BIqIQ")  # kind, mode, mtime in nanoseconds, bytes of the path, bytes of the content
FILE, FOLDER, LINK, END = range(4)  # kinds of entries of a tree that is sent ahead of the first request
MOST_PARTS = 16
ENDLESS = 1e9  # seconds
FRESH, WOKEN = "fresh", "woken"  # the last argument of an agent that starts, and of one that rested
WAKE = b"\n"
"""Sent before every request: an awake agent skips it; for a resting agent, it ends the shell's `read`."""
NEXT, STOP = b"n", b"s"
"""Sent after each piece of a stream: give the next one, or kill the command."""
PIECE = 1 << 20
"""Bytes after which the agent sends a piece of a stream; a piece exceeds this by at most one read of a pipe."""
SHAPES: "dict[bytes, tuple[int | None, ...]]" = {
    b"done": (DONE.size, None, None),  # and stdout, stderr
    b"data": (None,),
    b"piece": (None,),  # of a command's stdout: more follows
    b"refused": (None,),  # why
    b"errno": (LENGTH.size, None),  # and the error's text
}
"""The possible answers: kind and sizes of the parts, None for any size."""


def pack(parts: "Sequence[bytes]") -> bytes:
    """One message as bytes."""
    lengths = b"".join(LENGTH.pack(len(part)) for part in parts)
    return b"".join((COUNT.pack(len(parts)), lengths, *parts))


def unpack(read: "Callable[[int], bytes]", most: int) -> list[bytes]:
    """One message from `read(n) -> bytes`. Raises `ValueError` if it is longer than `most` bytes or invalid."""
    (count,) = COUNT.unpack(read(COUNT.size))
    if count > MOST_PARTS:
        raise ValueError(f"a message of {count} parts")
    lengths = [LENGTH.unpack(read(LENGTH.size))[0] for _ in range(count)]
    if sum(lengths) > most:
        raise ValueError(f"a message of {sum(lengths)} bytes; at most {most} are taken")
    return [read(length) for length in lengths]


def checked(answer: "list[bytes]", kinds: "tuple[bytes, ...]") -> "list[bytes]":
    """Return `answer` if it is one of `kinds` and has its shape. Raises `ValueError`."""
    kind, *parts = answer or [b"nothing"]
    if kind not in kinds or len(parts) != len(SHAPES[kind]):
        raise ValueError(f"an answer {kind[:20]!r} of {len(parts)} parts")
    for part, size in zip(parts, SHAPES[kind], strict=True):
        if size is not None and len(part) != size:
            raise ValueError(f"an answer {kind[:20]!r} with a part of {len(part)} bytes")
    if kind == b"done" and not all(0 <= seconds < ENDLESS for seconds in DONE.unpack(parts[0])[3:]):
        raise ValueError("a command that took no possible time")  # also NaN: an image's own agent may say anything
    return answer
