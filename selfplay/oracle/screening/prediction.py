"""Reads a prediction from a solver or a file, strictly.

Every diff that `git apply` or `patch -p1` reads unambiguously is converted to the form of `git diff`, with a note
(`patches/dialects.py`). Two changes made in transport are undone: line ends turned into CRLF throughout, and a missing
final line end. Everything else is refused with a reason.
"""

from collections.abc import Callable
from dataclasses import dataclass

from selfplay.oracle.errors import PredictionError
from selfplay.patches import FilePatch, PatchError
from selfplay.patches.dialects import read
from selfplay.plain_text import decode, encode
from selfplay.sandbox import MIB

MAX_BYTES = 8 * MIB
_STRUCTURE = (b"diff --git ", b"--- ", b"+++ ", b"@@ ")


@dataclass(frozen=True)
class ReadPrediction:
    """A prediction that was read: its text, its sections, and notes on what was changed."""

    diff: str
    sections: tuple[FilePatch, ...]
    notes: tuple[str, ...] = ()


def read_prediction(data: bytes | str, there: Callable[[str], bool] | None = None) -> ReadPrediction:
    """Read the diff of a prediction. `there`: tells whether a path is a file or folder of the tree. Raises
    `PredictionError` with the reason `empty`, `oversized` or `malformed`."""
    try:
        raw = data if isinstance(data, bytes) else encode(data)
    except UnicodeEncodeError as error:
        raise PredictionError("malformed", f"the prediction is not text: {error.reason}") from error
    if len(raw) > MAX_BYTES:
        raise PredictionError("oversized", f"the prediction has {len(raw)} bytes; at most {MAX_BYTES} are taken")
    if not raw.strip():
        raise PredictionError("empty", "the prediction is empty")
    raw, notes = _mended(raw)
    try:
        diff = read(decode(raw), there)
    except PatchError as error:
        raise PredictionError("malformed", f"the prediction is not a git diff: {error.message}", error.hint) from error
    return ReadPrediction(diff.text, diff.sections, (*notes, *diff.notes))


def _mended(raw: bytes) -> tuple[bytes, tuple[str, ...]]:
    notes = []
    if not raw.endswith(b"\n"):
        raw += b"\r\n" if raw.partition(b"\n")[0].endswith(b"\r") else b"\n"
        notes.append("a final line end was added")
    structure = [line for line in raw.split(b"\n") if line.startswith(_STRUCTURE)]
    if structure and all(line.endswith(b"\r") for line in structure):
        lines = raw.split(b"\n")[:-1]
        if not all(line.endswith(b"\r") for line in lines):
            raise PredictionError("malformed", "the prediction mixes CRLF and LF line ends")
        raw = b"".join(line[:-1] + b"\n" for line in lines)
        notes.append("CRLF line ends were converted")
    return raw, tuple(notes)
