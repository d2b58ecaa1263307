"""A tar with a sparse member of many pieces, which Python's own reader joins in the square of their number."""

PIECE, BLOCK = b"x", 512


def sparse_tar(pieces: int, size: int = 60_000_000) -> bytes:
    """An archive of one file of `size` bytes, nearly all of them holes, in this many pieces."""
    step = size // pieces
    places = b"%d\n" % pieces + b"".join(b"%d\n1\n" % (at * step) for at in range(pieces))
    body = _padded(places) + PIECE * pieces
    said = {"major": "1", "minor": "0", "name": "x", "realsize": str(size)}
    pax = b"".join(_record(f"GNU.sparse.{key}", value) for key, value in said.items())
    heads = (_header(b"PaxHeader", b"x", len(pax)), _header(b"x", b"0", len(body)))
    return heads[0] + _padded(pax) + heads[1] + _padded(body) + bytes(2 * BLOCK)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def _record(key: str, value: str) -> bytes:
    text = f" {key}={value}\n"
    size = len(text) + 2
    return f"{len(text) + len(str(size))}{text}".encode()


def _header(name: bytes, kind: bytes, size: int) -> bytes:
    head = bytearray(BLOCK)
    fields = {
        0: name, 100: b"0000644\0", 108: bytes(8).replace(b"\0", b"0", 7), 116: bytes(8).replace(b"\0", b"0", 7),
        124: b"%011o\0" % size, 136: b"%011o\0" % 0, 148: b" " * 8, 156: kind, 257: b"ustar\x0000",
    }  # fmt: skip
    for place, data in fields.items():
        head[place : place + len(data)] = data
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)
