"""Decodes Base85, ZeroMQ's base85 and Ascii85 text. Part of the search inside the sandbox, before `decode.py`."""

import base64
import re

MOST_SLOW = 1024 * 1024
"""Byte limit for formats that Python decodes in a Python loop, which is slow."""
SIGNS85 = rb"[0-9A-Za-z!#$%&()*+\-;<=>?@^_`{|}~.:/\[\]]"
WORD85 = re.compile(rb"(?<!" + SIGNS85 + rb")" + SIGNS85 + rb"{40,}")
SPACE = rb"[ \t]*"
RUN85 = re.compile(
    rb"(?<![!-uz])(?:<~)?[!-uz]{30,}(?:" + SPACE + rb"\r?\n" + SPACE + rb"[!-uz]{2,}(?=" + SPACE + rb"\r?(?:\n|\Z)))*"
    rb"(?:" + SPACE + rb"\r?\n" + SPACE + rb"[!-uz]*~>)?"
)


Z85 = bytes.maketrans(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
)


def words85(data):
    """Contents encoded as Base85, ZeroMQ's base85 or Ascii85."""
    count = 0
    for words, _ in groups(WORD85, data):
        text = b"".join(words)
        if len(text) >= LEAST_CODED and count < MOST_RUNS:
            count += 1
            yield attempt(b85, text) or attempt(lambda part: b85(part.translate(Z85)), text)
    for found in RUN85.finditer(data):
        count += 1
        if count > 2 * MOST_RUNS:
            return
        yield ascii85(found[0])


def b85(text):
    return base64.b85decode(text[:MOST_SLOW][: len(text) - len(text) % 5 or None])


def ascii85(run):
    """Ascii85 in a run of its alphabet: after the start mark, or else the longest part without quotes."""
    begin = run.find(b"<~")
    text = run[begin + 2 :] if begin >= 0 else run
    end = text.find(b"~")
    text = b"".join(text[: end if end >= 0 else len(text)].split())
    parts = (text, max(re.split(rb"[\"']", text), key=len)) if begin < 0 else (text,)
    return next(filter(None, (attempt(a85, part) for part in parts if len(part) >= LEAST_CODED)), b"")


def a85(text):
    return base64.a85decode(text[:MOST_SLOW])
