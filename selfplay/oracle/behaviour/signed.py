"""Reads records that our programs wrote while running beside untrusted code: signed, numbered and chained lines.

The program gets the key by standard input before the repository's code is loaded (`inside/selfplay_plain.py`). A line
that other code wrote, changed, dropped or moved breaks the chain, and then the whole record is invalid.
"""

from collections import defaultdict
from hashlib import sha256

from selfplay.untrusted_json import AnswerError, answer, lines

MOST_LINES, MOST_FIELDS = 200_000, 1_000
END = "end"
Signed = dict[str, dict[str, str]]
"""Probe -> its outcomes by place."""


class BrokenRecord(ValueError):
    """The record was changed by something other than the recorder; one line."""


def read_signed(data: bytes, key: str) -> tuple[Signed, bool]:
    """The outcomes, and whether the record has its end line. Raises `BrokenRecord`."""
    found: Signed = defaultdict(dict)
    before, ended = b"", False
    for number, line in enumerate(lines(data)):
        mac, _, said = line.partition(b" ")
        if ended or number >= MOST_LINES or mac != _mac(key, before, said):
            raise BrokenRecord(f"line {number + 1} of the record was not written by the recorder")
        try:
            count, place, text = answer(tuple[str, str, str], said, values=MOST_FIELDS)
        except AnswerError as error:
            raise BrokenRecord(f"line {number + 1} of the record cannot be read: {error}") from error
        if count != str(number):
            raise BrokenRecord(f"line {number + 1} of the record has the number {count[:20]}")
        before, ended = mac, place == END
        if not ended:
            found[place.partition("/")[0]][place] = text
    return dict(found), ended


def _mac(key: str, before: bytes, said: bytes) -> bytes:
    secret = key.encode()
    return sha256(secret + before + said + secret).hexdigest().encode()
