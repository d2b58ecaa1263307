"""Makes a text plainer: decodes escape sequences, percent signs, entities and quoted-printable.

Part of the search inside the sandbox, before `decode.py`.
"""

import html
import quopri
import re

ESCAPE = re.compile(
    rb"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{1,3})|(.))", re.DOTALL
)
SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"f": b"\f", b"v": b" ", b"a": b"", b"b": b"", b"\n": b""}
PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
QUOTED = re.compile(rb"=(?:[0-9A-F]{2}|\r?\n)")
ENTITY = re.compile(rb"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-z]{2,8});")
PDF_OTHER = rb"<([0-9A-Fa-f\s]+)>|\bT([jJdDm*])"
PDF_TEXT = re.compile(rb"\(((?:[^()\\]|\\.|\([^()\\]*\))*)(\)?)|" + PDF_OTHER, re.DOTALL)
PDF_INSIDE = re.compile(rb"\(([^()\\]*)(\))|" + PDF_OTHER)


def escapes(data):
    """`\\n`, `\\x41`, `\\u0041` and others, as in strings of programs or JSON."""
    if data.count(b"\\") >= 3:
        plain = ESCAPE.sub(unescaped, data)
        if plain != data:
            yield plain


def unescaped(found):
    """One escape sequence as the bytes it stands for."""
    simple = found[6]
    if simple is not None:
        return SIMPLE.get(simple, simple)
    digits = found[1] or found[2] or found[3] or found[4]
    number = int(digits, 16) if digits else int(found[5], 8)
    if number < 128:
        return bytes([number])
    return chr(number).encode("utf-8", "replace") if number < 0x110000 else b"?"


def percents(data):
    if data.count(b"%") >= 8 and len(PERCENT.findall(data)) >= 8:
        plain = PERCENT.sub(lambda found: bytes([int(found[1], 16)]), data)
        yield plain
        if data.count(b"+") > 4 * data.count(b" "):
            yield PERCENT.sub(lambda found: bytes([int(found[1], 16)]), data.replace(b"+", b" "))


def entities(data):
    if data.count(b"&") >= 3 and len(ENTITY.findall(data)) >= 3:
        text = html.unescape(data.decode("utf-8", "surrogateescape"))
        yield text.encode("utf-8", "surrogatepass").replace(b"\xc2\xa0", b" ")


def mail(data):
    if b"=3D" in data or b"=20" in data or len(QUOTED.findall(data)) >= 8:
        yield quopri.decodestring(data)


def pdf_signs(data):
    """The strings and the ends of lines. A string that does not end is none, but what stands in it may be."""
    for found in PDF_TEXT.finditer(data):
        if found[2] == b"":
            for inner in PDF_INSIDE.finditer(data, found.start() + 1, found.end()):
                yield inner
        else:
            yield found


def pdf_text(data):
    """The text on the page of a PDF."""
    parts = []
    for found in pdf_signs(data):
        if found[1] is not None:
            parts.append(re.sub(rb"\\(.)", rb"\1", found[1]))
        elif found[3] is not None:
            digits = b"".join(found[3].split())
            parts.append(bytes.fromhex(digits[: len(digits) & ~1].decode()))
        elif found[4] not in b"jJ":
            parts.append(b"\n")
    return b"".join(parts)


PLAINER = (escapes, percents, entities, mail)
