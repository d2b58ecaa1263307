"""A prediction, from a solver or a file: read once, strictly.

What `git apply` or `patch -p1` takes without a doubt is read into the form of `git diff`, and noted
(`patches/dialects.py`). Two changes that transport makes are undone, too: line ends turned into CRLF throughout, and a
missing line end at the very end. Everything else is refused with a reason; nothing is guessed.
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
    """A prediction that can be read: its text, its sections, and what was done to it."""

    diff: str
    sections: tuple[FilePatch, ...]
    notes: tuple[str, ...] = ()


def read_prediction(data: bytes | str, there: Callable[[str], bool] | None = None) -> ReadPrediction:
    """The diff of a prediction. `there`: is this path a file or folder of the tree it is for? Raises `PredictionError`
    with the reason `empty`, `oversized` or `malformed`."""
    try:
        raw = data if isinstance(data, bytes) else encode(data)
    except UnicodeEncodeError as error:
        raise PredictionError("malformed", f"the prediction holds what is not text: {error.reason}") from error
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
        notes.append("a line end was added at its end")
    structure = [line for line in raw.split(b"\n") if line.startswith(_STRUCTURE)]
    if structure and all(line.endswith(b"\r") for line in structure):
        lines = raw.split(b"\n")[:-1]
        if not all(line.endswith(b"\r") for line in lines):
            raise PredictionError("malformed", "some line ends of the prediction are CRLF and some are not")
        raw = b"".join(line[:-1] + b"\n" for line in lines)
        notes.append("CRLF line ends were undone")
    return raw, tuple(notes)
