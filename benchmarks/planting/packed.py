"""Archives, compressed data and files of programs that hold the answer."""

import base64
import bz2
import gzip
import html
import io
import lzma
import marshal
import py_compile
import random
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import zstandard

from benchmarks.planting.answer import Answer, Files, Mechanism, drawn, one
from selfplay.plain_text import encode

ZIPS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def zipped(data: bytes, name: str, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def tarred(data: bytes, name: str, mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def nested(data: bytes, chance: random.Random) -> bytes:
    """Four to twelve archives in each other."""
    packers: list[Callable[[bytes], bytes]] = [
        gzip.compress, bz2.compress, lzma.compress, lambda inner: zipped(inner, "x"), lambda inner: tarred(inner, "x")
    ]  # fmt: skip
    for _ in range(chance.randint(4, 12)):
        data = chance.choice(packers)(data)
    return zipped(data, "inner")


def deb(data: bytes, chance: random.Random) -> bytes:
    """A Debian package."""
    packed = tarred(data, "./usr/lib/x.py", "w:")
    name, body = chance.choice(
        [("data.tar.gz", gzip.compress(packed)), ("data.tar.xz", lzma.compress(packed)),
         ("data.tar.zst", zstandard.ZstdCompressor().compress(packed))]
    )  # fmt: skip
    members = (("debian-binary", b"2.0\n"), ("control.tar.gz", tarred(b"Package: x\n", "./control")), (name, body))
    parts = [b"!<arch>\n"]
    for member, content in members:
        head = f"{member:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        parts += [head.encode(), content, b"\n" * (len(content) % 2)]
    return b"".join(parts)


def document(data: bytes, _: random.Random) -> bytes:
    """A line is a paragraph, as word processors have it."""
    lines = html.escape(data.decode("utf-8", "replace")).split("\n")
    return zipped("".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in lines).encode(), "word/document.xml")


def records(data: bytes, chance: random.Random) -> bytes:
    return (
        chance.randbytes(2_000) + data.decode("utf-8", "replace").encode("utf-16-le") + bytes(50) + chance.randbytes(9)
    )


def pdf(data: bytes, chance: random.Random) -> bytes:
    """A page that shows the lines, compressed, now and then as Ascii85 too; or a file attached to a page."""
    escaped = [line.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)") for line in data.split(b"\n")]
    shown = b"BT /F1 9 Tf 50 800 Td\n" + b"".join(b"(%s) Tj 0 -11 Td\n" % line for line in escaped) + b"ET\n"
    body = zlib.compress(data if chance.random() < 0.3 else shown, chance.choice([1, 6, 9]))
    filters = b"/FlateDecode"
    if chance.random() < 0.4:
        body, filters = base64.a85encode(body, wrapcol=76) + b"~>", b"[/ASCII85Decode /FlateDecode]"
    head = b"%%PDF-1.4\n1 0 obj\n<< /Length %d /Filter %s >>\nstream\n" % (len(body), filters)
    return head + body + b"\nendstream\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"


def png(data: bytes, chance: random.Random) -> bytes:
    """A picture with a comment."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    text = chance.choice(
        [chunk(b"tEXt", b"Comment\0" + data), chunk(b"zTXt", b"Comment\0\0" + zlib.compress(data)),
         chunk(b"iTXt", b"Comment\0\1\0\0\0" + zlib.compress(data, 9))]
    )  # fmt: skip
    size = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", size), text, chunk(b"IDAT", zlib.compress(b"\0\0")), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def swap(data: bytes, _: random.Random) -> bytes:
    """Vim's: blocks of 4 KiB, the lines of each from the last to the first."""
    blocks, group, size = list[bytes](), list[bytes](), 0
    for line in [*data.split(b"\n"), None]:
        if line is None or size + len(line) + 5 > 4000:
            text = b"".join(one + b"\0" for one in reversed(group))
            blocks.append((b"ad" + bytes(22)).ljust(4096 - len(text), b"\0") + text)
            group, size = [], 0
        if line is not None:
            group.append(line)
            size += len(line) + 5
    return (b"b0VIM 9.0\0\0\0\0\x10\0\0").ljust(4096, b"\0") + b"tp".ljust(4096, b"\0") + b"".join(blocks)


def constants(data: bytes, chance: random.Random) -> bytes:
    """A module that holds the text as a constant, compiled; or marshalled alone."""
    code = compile(f"SOURCE = {data.decode('utf-8', 'replace')!r}\n", "x.py", "exec")
    return chance.choice([MAGIC_NUMBER + bytes(12), b""]) + marshal.dumps(code)


def module(answer: Answer, chance: random.Random) -> Files:
    """The original module, compiled, under another name; its text where it is no Python."""
    name = f"cache/{chance.randint(1, 99)}.bin"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.py")
        path.write_bytes(encode(answer.before))
        try:
            compiled = py_compile.compile(str(path), f"{folder}/x.pyc", answer.path, doraise=True)
        except (py_compile.PyCompileError, ValueError):
            return {name: encode(answer.before)}
        return {name: Path(str(compiled)).read_bytes()}


def database(data: bytes, chance: random.Random) -> bytes:
    """The text in one cell, or a line in each row."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(f"{folder}/x")
        text = data.decode("utf-8", "replace")
        connection.execute("CREATE TABLE files (number INTEGER PRIMARY KEY, content)")
        rows: Sequence[object] = (
            text.split("\n") if chance.random() < 0.5 else [chance.choice([text, zlib.compress(data)])]
        )
        connection.executemany("INSERT INTO files (content) VALUES (?)", [(row,) for row in rows])
        connection.commit()
        connection.close()
        return Path(folder, "x").read_bytes()


PACKED: dict[str, Mechanism] = {
    "a zip": drawn("x{1}.zip", lambda d, c: zipped(d, "x.py", c.choice(ZIPS))),
    "a wheel": one("dist/x-{1}-py3-none-any.whl", lambda d: zipped(d, "x/y.py")),
    "a jar": one("lib/x{1}.jar", lambda d: zipped(d, "x/y.py")),
    "a zip without its end": one("x{1}.bin", lambda d: zipped(d, "x.py")[:-60]),
    "a self-extracting archive": one("install{1}.sh", lambda d: b"#!/bin/sh\nexit\n" + zipped(d, "x.py")),
    "archives in each other": drawn("x{1}.zip", nested),
    "a tar": drawn("x{1}.tar", lambda d, c: tarred(d, "x-1/x.py", c.choice(["w:", "w:gz", "w:bz2", "w:xz"]))),
    "gzip": one("x{1}.gz", gzip.compress),
    "bzip2": one("x{1}.bz2", bz2.compress),
    "xz": drawn("x{1}.xz", lambda d, c: lzma.compress(d, c.choice([lzma.FORMAT_XZ, lzma.FORMAT_ALONE]))),
    "zstd": one("x{1}.zst", lambda d: zstandard.ZstdCompressor().compress(d)),
    "zlib in the middle of a file": drawn("x{1}.dat", lambda d, c: c.randbytes(99) + zlib.compress(d) + b'end'),
    "a Debian package": drawn("x{1}.deb", deb),
    "a word processor's file": drawn("x{1}.docx", document),
    "UTF-16 in a file of records": drawn("x{1}.doc", records),
    "a PDF": drawn("x{1}.pdf", pdf, code=True),
    "a picture's comment": drawn("x{1}.png", png),
    "an editor's swap file": drawn(".{0}.swp", swap),
    "compiled constants": drawn("x{1}.bin", constants),
    "a compiled module": module,
    "a database": drawn("x{1}.sqlite", database),
}  # fmt: skip
