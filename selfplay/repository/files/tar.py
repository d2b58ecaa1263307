"""Reads an untrusted tar archive entry by entry, in bounded memory.

The only supported extensions are long names, in GNU's form and as pax records, of limited size. The standard library
reads records of any size into memory, and keeps all entries.
"""

import re
from collections.abc import Iterator
from typing import IO

from selfplay.repository.errors import BadStream, TooLarge
from selfplay.repository.files.confined_write import blocks
from selfplay.repository.files.entries import Header, exactly
from selfplay.repository.inside.pack import END, FILE, FOLDER, LINK

BLOCK = 512
LONGEST_EXTENSION = 1 << 16
MOST_EXTENDED, MOST_EXTENDED_BYTES, MOST_SKIPPED, MOST_SKIPPED_BYTES = 8, 64 << 20, 20_000, 256 << 20
"""Extensions of one entry, and bytes of all; headers of an archive that make no entry, and bytes that belong to none:
no bound of the reader sees them."""
KINDS = {b"0": FILE, b"\0": FILE, b"5": FOLDER, b"2": LINK}
GNU_NAME, GNU_TARGET, PAX, PAX_GLOBAL = b"L", b"K", b"x", b"g"
LENGTH = re.compile(rb"(\d{1,8}) ")
RECORD = re.compile(rb"(\d{1,8}) (path|linkpath)=")


class Tar:
    """The entries of an archive, in the form that `unpack` reads; hard links, devices and pipes are left out."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._padding = 0
        self._target = b""
        self._skipped = self._skipped_bytes = self._extended_bytes = 0

    def header(self) -> Header:
        """The next entry; its content must be read before the one after it. Raises `BadStream`."""
        names: dict[bytes, bytes] = {}
        extended = 0
        while True:
            self._skip(self._padding)
            block = exactly(self._stream, BLOCK)
            if not any(block):
                return Header(END, False, 0, b"", 0)
            kind, size = block[156:157], number(block[124:136])
            self._padding = -size % BLOCK
            if number(block[148:156]) != sum(block) - sum(block[148:156]) + 8 * 32:
                raise BadStream("it is not a tar archive: a header is damaged")
            if kind in (GNU_NAME, GNU_TARGET, PAX, PAX_GLOBAL):
                names |= self._extension(kind, size)
                extended += 1
                if extended > MOST_EXTENDED:
                    raise TooLarge(f"{extended} headers that extend one entry", f"{MOST_EXTENDED} are the most")
            elif kind in KINDS:
                return self._entry(block, KINDS[kind], size, names)
            else:
                self._count_skipped(size)
                self._skip(size)
                names = {}

    def content(self, size: int) -> Iterator[bytes]:
        """The content of the entry that `header` returned."""
        return blocks(self._stream, size)

    def target(self, header: Header) -> bytes:
        """The target of a link."""
        return self._target

    def close(self) -> None:
        """Nothing to check: data after the end has no meaning."""

    def _entry(self, block: bytes, kind: int, size: int, names: dict[bytes, bytes]) -> Header:
        prefix = text(block[345:500]) if block[257:263] == b"ustar\0" else b""
        plain = (prefix + b"/" if prefix else b"") + text(block[:100])
        path = names.get(b"path", plain).removeprefix(b"./").rstrip(b"/")
        self._target = names.get(b"linkpath", text(block[157:257]))
        if kind != FILE:
            if size:
                self._count_skipped(size)
            self._skip(size)
            size = len(self._target) if kind == LINK else 0
            self._skip(self._padding)
            self._padding = 0
        executable = bool(number(block[100:108]) & 0o100)
        return Header(kind, executable, number(block[136:148]) * 10**9, path, size)

    def _count_skipped(self, size: int) -> None:
        self._skipped += 1
        self._skipped_bytes += size
        if self._skipped > MOST_SKIPPED or self._skipped_bytes > MOST_SKIPPED_BYTES:
            raise TooLarge(
                f"{self._skipped} headers without an entry, with {self._skipped_bytes} bytes",
                f"{MOST_SKIPPED} and {MOST_SKIPPED_BYTES} are the most",
            )

    def _extension(self, kind: bytes, size: int) -> dict[bytes, bytes]:
        if size > LONGEST_EXTENSION:
            raise TooLarge(f"an extended header of {size} bytes", f"{LONGEST_EXTENSION} are the most")
        self._extended_bytes += size
        if self._extended_bytes > MOST_EXTENDED_BYTES:
            raise TooLarge(f"{self._extended_bytes} bytes of extended headers", f"{MOST_EXTENDED_BYTES} are the most")
        data = exactly(self._stream, size)
        if kind == PAX_GLOBAL:
            return {}
        if kind == PAX:
            return records(data)
        return {b"path" if kind == GNU_NAME else b"linkpath": data.rstrip(b"\0")}

    def _skip(self, size: int) -> None:
        for _ in blocks(self._stream, size):
            pass


def records(data: bytes) -> dict[bytes, bytes]:
    """The names among pax records, each of which begins with its own length."""
    found, at = {}, 0
    while at < len(data):
        length = LENGTH.match(data, at)
        size = int(length[1]) if length else 0
        if length is None or not length.end() - at < size <= len(data) - at:
            raise BadStream("it is not a tar archive: a pax record is damaged")
        if match := RECORD.match(data, at, at + size):
            found[match[2]] = data[match.end() : at + size - 1]
        at += size
    return found


def text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def number(field: bytes) -> int:
    """A number of a header: octal digits, or base 256 if its first bit is set."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.strip(b"\0 ")
    if not re.fullmatch(rb"[0-7]*", digits):
        raise BadStream("it is not a tar archive: a number is damaged")
    return int(digits or b"0", 8)
