"""Finds compressed data at any offset of a content.

It tries Python's own decompressors wherever a format's magic number occurs, so that .deb, PDF, PNG and many other files
need no reader of their own. Part of the search inside the sandbox, after `bounds.py`.
"""

import struct
import zlib

try:  # a minimal Python may lack one of them
    import bz2
    import lzma
except ImportError:
    bz2 = lzma = None

BLOCK = 1 << 16
MOST_PART = 1 << 20
"""Bytes unpacked at a time: a few compressed bytes may unpack to thousands of millions."""
LEAST_PACKED = 16
"""Bytes: data that unpacks to less was not compressed data, or is too short to matter."""
MOST_STARTS = 4096
"""The most candidate positions of compressed data tried in one content."""
ZSTD = b"\x28\xb5\x2f\xfd"
STARTS = (
    b"PK\3\4", b"\x1f\x8b\x08", b"\xfd7zXZ\0", ZSTD, b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda",
    *(b"BZh%d1AY&SY" % level for level in range(1, 10)),
)  # fmt: skip


DAMAGED = (zlib.error, OSError, EOFError) + ((lzma.LZMAError,) if lzma else ())


def carved(raw, where, bounds):
    """Yield (name, content) of all compressed data."""
    at, tried = 0, 0
    following = {start: raw.find(start) for start in STARTS}
    while True:
        for start, place in following.items():
            if 0 <= place < at:
                following[start] = raw.find(start, at)
        places = [(place, start) for start, place in following.items() if place >= 0]
        if not places:
            return
        if tried >= MOST_STARTS:
            bounds.leave(where, "more than %d compressed parts" % MOST_STARTS)
            return
        place, start = min(places)
        tried += 1
        bounds.check()
        name, content, used = inflate(raw, place, start, bounds)
        at = place + max(used, 1)
        if len(content) >= LEAST_PACKED:
            yield name, content


def inflate(raw, at, start, bounds):
    """(name, content, bytes used) of the compressed data that begins here; 0 bytes used if there is none."""
    try:
        if start == b"PK\3\4":
            return member_at(raw, at, bounds)
        if start == ZSTD:
            return ("", *unzstd(raw, at, bounds))
        if bz2 is None and start[:2] in (b"BZ", b"\xfd7"):
            bounds.leave("bzip2 and xz", "this Python cannot read them")
            return "", b"", 0
        if start[:1] == b"\x78":
            machine = zlib.decompressobj()
        elif start[:2] == b"\x1f\x8b":
            machine = zlib.decompressobj(31)
        else:
            machine = bz2.BZ2Decompressor() if start[:2] == b"BZ" else lzma.LZMADecompressor()
        return ("", *inflated(machine, raw, at, bounds))
    except (ValueError, struct.error):
        return "", b"", 0


def member_at(raw, at, bounds):
    """One member of a zip by its own header, since the archive's list of members may be lost."""
    flags, method = struct.unpack("<HH", raw[at + 6 : at + 10])
    name_size, extra = struct.unpack("<HH", raw[at + 26 : at + 30])
    name = raw[at + 30 : at + 30 + name_size].decode("utf-8", "replace")
    body = at + 30 + name_size + extra
    if method != 8 or flags & 1:
        return name, b"", 0  # stored members are searched as they are
    content, used = inflated(zlib.decompressobj(-15), raw, body, bounds)
    return name, content, used and body + used - at


def inflated(machine, raw, at, bounds):
    """(content, bytes used), at most `MOST_BYTES`; of a damaged stream, the readable part."""
    parts, size, place, view = [], 0, at, memoryview(raw)
    while size <= MOST_BYTES and not machine.eof:
        block = getattr(machine, "unconsumed_tail", b"")
        if not block and getattr(machine, "needs_input", True):
            if place >= len(raw):
                break
            block = view[place : place + BLOCK]
            place += len(block)
        try:
            part = machine.decompress(block, MOST_PART)
        except DAMAGED:
            break
        bounds.take(len(part))
        parts.append(part)
        size += len(part)
    return b"".join(parts), place - at - len(machine.unused_data) if machine.eof else 0


def unzstd(raw, at, bounds):
    """(content, bytes used) by the system's libzstd: before 3.14 Python has no zstd reader."""
    try:
        import ctypes

        library = ctypes.CDLL("libzstd.so.1")
    except (ImportError, OSError):
        bounds.leave("zstd", "the library that reads it is not here")
        return b"", 0
    buffer = type("Buffer", (ctypes.Structure,), {"_fields_": [(n, ctypes.c_size_t) for n in ("data", "size", "at")]})
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    stream = ctypes.c_void_p(library.ZSTD_createDStream())
    target, given = ctypes.create_string_buffer(BLOCK), buffer(0, 0, 0)
    parts, size, place, left = [], 0, at, 1
    try:
        while left and size <= MOST_BYTES:
            if given.at == given.size and place < len(raw):
                source = ctypes.create_string_buffer(raw[place : place + BLOCK])
                given = buffer(ctypes.addressof(source), len(source) - 1, 0)
                place += given.size
            taken = buffer(ctypes.addressof(target), BLOCK, 0)
            left = library.ZSTD_decompressStream(stream, ctypes.byref(taken), ctypes.byref(given))
            if left > -256 % (1 << 64) or (not taken.at and given.at == given.size and place >= len(raw)):
                break  # an error, or a truncated end
            bounds.take(taken.at)
            parts.append(target.raw[: taken.at])
            size += taken.at
    finally:
        library.ZSTD_freeDStream(stream)
    return b"".join(parts), 0 if left else place - (given.size - given.at) - at
