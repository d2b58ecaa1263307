"""The runs of tokens of a text, as numbers. Part of `copies.py`; `selfplay.repository.copies` imports it, so that both
compare the same."""

import re
import zlib

TOKEN, COMMENT, RUN = re.compile(rb"\w+|[^\w\s'\"`;]"), re.compile(rb"//[^\n]*"), 5
"""A token, and how many of them are a run: an older version has other types, quotes and line breaks here and there."""


def token_runs(data: bytes) -> "list[int]":
    """A number for each run of tokens, or for all of them if they are fewer."""
    found = TOKEN.findall(COMMENT.sub(b"", data))
    starts = range(max(1, len(found) - RUN + 1)) if found else ()
    return [zlib.crc32(b" ".join(found[at : at + RUN])) for at in starts]
