"""Finds encoded contents inside a text. Part of the search inside the sandbox, after `plainer.py`.

Encodings are found by their alphabets: consecutive words of one alphabet, separated by white space, quotes, comment
signs and the like. A result that is neither text nor a known format is dropped.
"""

import base64
import binascii
import pickletools
import re

MOST_CODED = 16 * 1024 * 1024
MOST_RUNS, MOST_STEPS = 400, 4
PROBE = 240
LEAST_CODED = 48
PRINTABLE = bytes(range(32, 127)) + b"\t\r\n\f"
CONTROL = bytes(range(9)) + bytes(range(14, 32))
MAGIC = (
    b"# v2 git", b"# v3 git",
    b"\x1f\x8b\x08", b"PK\3\4", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"SQLite", b"%PDF", b"\x89PNG", b"PACK",
    b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"b0VIM", b"!<arch>", b"\x5d\0\0",
)  # fmt: skip
WORD64 = re.compile(rb"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{12,}={0,6}")
GAP = re.compile(rb"[\s\"'>|*#+,;]{0,60}|[\s\"'>|*#+,;]{0,30}b[\"']")
TAIL = re.compile(rb"[\s\"'>|*#+,;b]{1,60}?([A-Za-z0-9+/_-]{1,11}={0,6})(?![A-Za-z0-9+/_-])")
NUMBERS = (
    re.compile(rb"0[xX][0-9a-fA-F]{1,2}(?:[,;\s]{1,20}0[xX][0-9a-fA-F]{1,2}){29,}"),
    re.compile(rb"[0-9]{1,3}(?:[,;\s]{1,20}[0-9]{1,3}){29,}"),
)
DUMPED = re.compile(rb"^[ \t]*[0-9a-fA-F]{4,16}:?[ \t]+((?:[0-9a-fA-F]{2,4}[ \t]{1,2}){2,16})", re.MULTILINE)
UUENCODED = re.compile(rb"^[ \t>#*|]*(M[ -`]{60})[ \t\r]*$", re.MULTILINE)


def decoded(data, steps):
    """(content, number of plainer texts it passed through) for everything encoded in this text, one level deep.

    Escapes and the like turn a whole text into another one. Not all their orders are tried: each alone, then all
    together, a few times."""
    if len(data) > MOST_CODED:
        return
    text = textual(data)
    if text and steps == 0:
        for plainer in PLAINER:
            for content in plainer(data):
                yield content, 1
    elif text and steps < MOST_STEPS:
        content = data
        for plainer in PLAINER:
            content = next(plainer(content), content)
        if content != data:
            yield content, steps + 1
    for way in WAYS if text else (pickled, words64, words85):
        for content in way(data):
            if content:
                yield content, 0
    if not text and not data.startswith(MAGIC) and data.count(0) * 50 >= len(data):
        yield data.replace(b"\0", b""), 0  # may contain UTF-16
    if (b"Tj" in data or b"TJ" in data) and b"BT" in data:
        yield pdf_text(data), 0


def textual(data):
    """Whether this is text, not binary data."""
    head = data[:4096]
    return len(head.translate(None, CONTROL)) >= 0.98 * len(head)


def plausible(content):
    """Whether this is text, or a format that can be unpacked."""
    head = content[:PROBE]
    if head.startswith(MAGIC):
        return True
    head = head.replace(b"\0", b"") if head.count(0) * 5 >= 2 * len(head) else head
    return len(head) >= LEAST_PACKED and len(head.translate(None, PRINTABLE)) <= 0.15 * len(head)


def attempt(decode, text):
    """The decoded content, if it is plausible."""
    try:
        if plausible(decode(text[:PROBE])):
            return decode(text)
    except (ValueError, binascii.Error, OverflowError):
        pass
    return b""


def pickled(data):
    if data[:1] in (b"\x80", b"(", b"]") and data[-1:] == b".":
        try:
            texts = [found for _, found, _ in pickletools.genops(data) if isinstance(found, str)]
        except Exception:  # not a pickle
            return
        yield "\n".join(texts).encode("utf-8", "surrogateescape")


def groups(pattern, data):
    """Consecutive words of an alphabet, separated by nothing but white space and signs."""
    group, end = [], 0
    for found in pattern.finditer(data):
        if group and not (found.start() - end <= 64 and GAP.fullmatch(data, end, found.start())):
            yield group, end
            group = []
        group.append(found[0])
        end = found.end()
    if group:
        yield group, end


def words64(data):
    """Hexadecimal, base32 and base64 text."""
    lines = data.replace(b"\\n", b"\n").replace(b"\\r", b"") if b"\\" in data else data
    count = 0
    for words, end in groups(WORD64, lines):
        tail = TAIL.match(lines, end)
        words = [*words, tail[1]] if tail else words
        if sum(map(len, words)) >= LEAST_CODED:
            count += 1
            if count > MOST_RUNS:
                return
            yield words64_decoded(words)


def words64_decoded(words):
    """The first plausible decoding of these words; the first word may not belong to them."""
    for text in (b"".join(words), b"".join(words[1:])):
        for decode in (hexadecimal, base32, base32hex, base64s):
            content = attempt(decode, text) if len(text) >= LEAST_CODED else b""
            if content:
                return content
    whole = [word for word in words if len(word) % 4 == 0]
    return attempt(base64s, b"".join(whole)) if len(whole) < len(words) else shifted(b"".join(words))


def shifted(text):
    """Base64 text after up to three letters that do not belong to it."""
    for start in (1, 2, 3):
        content = attempt(base64s, text[start:])
        if content:
            return content
    return b""


def hexadecimal(text):
    return binascii.unhexlify(text[: len(text) & ~1])


def base32(text):
    text = text.rstrip(b"=")
    return base64.b32decode(text[: len(text) & ~7] + rest32(text), True)


def rest32(text):
    """The last, incomplete group, padded; dropped if no encoder makes such a length."""
    rest = text[len(text) & ~7 :]
    return rest + b"=" * (8 - len(rest)) if len(rest) in (2, 4, 5, 7) else b""


BASE32HEX = bytes.maketrans(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


def base32hex(text):
    text = text.upper().rstrip(b"=")
    if text.translate(None, b"0123456789ABCDEFGHIJKLMNOPQRSTUV"):
        raise ValueError
    return base32(text.translate(BASE32HEX))


def base64s(text):
    """Base64, where each word may have its own padding."""
    parts = re.split(rb"=+", text.translate(bytes.maketrans(b"-_", b"+/")))
    parts = [part[:-1] if len(part) % 4 == 1 else part for part in parts]
    return b"".join([binascii.a2b_base64(part + b"=" * (-len(part) % 4)) for part in parts])


def uuencoded(data):
    """Uuencoded data, from the first full line on."""
    if not UUENCODED.search(data):
        return
    parts = []
    for line in data[UUENCODED.search(data).start() :].split(b"\n"):
        line = line.strip(b"\r").lstrip(b"\t >|*")
        try:
            parts.append(binascii.a2b_uu(line))
        except binascii.Error:
            continue
    yield b"".join(parts)


def numbers(data):
    """Bytes written as a list of numbers."""
    for pattern in NUMBERS:
        for found in pattern.finditer(data):
            yield attempt(listed_bytes, found[0])


def listed_bytes(text):
    words = re.split(rb"[,;\s]+", text)
    return bytes([int(word, 16 if word[:2].lower() == b"0x" else 10) for word in words if word])


def dumped(data):
    """The output of `xxd` and `hexdump -C`."""
    lines = DUMPED.findall(data)
    if len(lines) >= 4:
        yield attempt(hexadecimal, b"".join(b"".join(lines).split()))


WAYS = (pickled, words64, words85, uuencoded, numbers, dumped)
