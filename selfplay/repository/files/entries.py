"""Reads the entries of a stream that our program in a sandbox writes, frame by frame, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Protocol

from selfplay.repository.errors import BadStream, TooLarge
from selfplay.repository.files.confined_write import Names, blocks
from selfplay.repository.inside.pack import END, FILE, FOLDER, HEAD, LINK


@dataclass(frozen=True)
class Header:
    """One entry of a stream. `path` is relative and contains only plain names."""

    kind: int
    executable: bool
    mtime_ns: int
    path: bytes
    size: int

    @property
    def names(self) -> Names:
        return tuple(self.path.split(b"/"))


class Entries(Protocol):
    """A stream of entries; each entry's content must be read before the next entry."""

    def header(self) -> Header: ...
    def content(self, size: int, /) -> Iterator[bytes]: ...
    def target(self, header: Header, /) -> bytes: ...
    def close(self) -> None: ...


class Frames:
    """The entries that `inside/pack.py` writes."""

    def __init__(self, stream: IO[bytes], path_bytes: int) -> None:
        self._stream, self._most = stream, path_bytes

    def header(self) -> Header:
        """The next entry. Raises `BadStream`."""
        kind, executable, mtime_ns, path_bytes, size = HEAD.unpack(exactly(self._stream, HEAD.size))
        if kind not in (END, FILE, FOLDER, LINK) or executable > 1:
            raise BadStream(f"it has an entry of kind {kind}")
        if path_bytes > self._most:
            raise TooLarge(f"a path of {path_bytes} bytes", f"{self._most} are the most")
        if kind == END and (path_bytes or size):
            raise BadStream("its end frame has a name or a content")
        return Header(kind, bool(executable), mtime_ns, exactly(self._stream, path_bytes), size)

    def content(self, size: int) -> Iterator[bytes]:
        """The content of the entry that `header` returned."""
        return blocks(self._stream, size)

    def target(self, header: Header) -> bytes:
        """The target of a link."""
        return exactly(self._stream, header.size)

    def close(self) -> None:
        """Raises `BadStream` if more data follows, and `InsideError` if the writing program failed."""
        if self._stream.read(1):
            raise BadStream("it goes on after its end")


def exactly(stream: IO[bytes], size: int) -> bytes:
    """Exactly `size` bytes (a small number). Raises `BadStream` if the stream ends earlier."""
    data = b""
    while len(data) < size:
        more = stream.read(size - len(data))
        if not more:
            raise BadStream("it ends too early")
        data += more
    return data
