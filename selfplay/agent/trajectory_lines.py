"""Reads a trajectory file, one JSON object a line, piece by piece and within bounds: the file is untrusted.

94 kB of Zstandard can be 3 GB of text, so unpacked bytes are counted as they come, and the frame may not ask for a
large window. Limits are on memory, not characters: one emoji makes Python store a text at four bytes a character.
"""

from collections.abc import Iterator, Sequence
from typing import IO, Any

import zstandard

from selfplay.artifact.decoding import count_values, parse_json, text_memory
from selfplay.artifact.reading import MIB, UntrustedDataError

MOST_PACKED = 64 * MIB
MOST_LINES = 20_000
MOST_LINE, MOST_TEXT = 16 * MIB, 32 * MIB
"""The most memory of one line's text, and of all lines together."""
MOST_LINE_VALUES, MOST_VALUES = 800_000, 1_200_000
WINDOW = 8 * MIB
_PIECE = 256 * 1024


class _Size:
    """What the lines until now take."""

    def __init__(self) -> None:
        self.lines = self.memory = self.values = 0

    def holds(self, line: bytes) -> bool:
        """Count one more line; whether a file may hold it."""
        self.lines, self.memory = self.lines + 1, self.memory + text_memory(line)
        self.values += count_values(line)
        return self.lines <= MOST_LINES and self.memory <= MOST_TEXT and self.values <= MOST_VALUES


def fit(lines: Sequence[bytes]) -> bool:
    """Whether a file of these lines is within the bounds in which it is read."""
    size = _Size()
    return all(len(one) <= MOST_LINE and count_values(one) <= MOST_LINE_VALUES and size.holds(one) for one in lines)


def json_lines(stream: IO[bytes], what: str, packed: bool) -> Iterator[dict[str, Any]]:
    """The objects in the file, one a line. Raises `UntrustedDataError`, and `zstandard.ZstdError` for a damaged
    frame."""
    size = _Size()
    for number, line in enumerate(_lines(stream, what, packed), 1):
        name = f"line {number} of {what}"
        if not size.holds(line):
            raise UntrustedDataError(f"{what} is larger than any episode that selfplay writes")
        if not line:
            continue
        found = parse_json(line, name, values=MOST_LINE_VALUES, halves=True)
        if not isinstance(found, dict):
            raise UntrustedDataError(f"{name} is not a JSON object")
        yield found


def _lines(stream: IO[bytes], what: str, packed: bool) -> Iterator[bytes]:
    """The lines; holds at most one longest allowed line in memory."""
    source: Any = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(stream) if packed else stream
    pieces: list[bytes] = []
    size = 0
    while piece := source.read(_PIECE):
        *whole, rest = piece.split(b"\n")
        for end in whole:
            yield b"".join([*pieces, end])
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > MOST_LINE:
            raise UntrustedDataError(f"a line of {what} is longer than any that selfplay writes")
    if size:
        yield b"".join(pieces)
