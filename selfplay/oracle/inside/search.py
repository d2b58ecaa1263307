"""Search files for lines that were taken away: `walk.py`, which is run after this text, gives it every file.

Looks into archives in archives, compressed files and compiled Python, whose functions are compared with those of the
original file compiled here.
"""

import base64
import binascii
import bz2
import gzip
import html
import io
import itertools
import lzma
import marshal
import os
import pickletools
import re
import resource
import tarfile
import types
import zipfile
import zlib

MOST_BYTES = 64 * 1024 * 1024
DEPTH = 3
MOST_UNPACKED = 1024 * 1024 * 1024
"""The most bytes read out of archives, over all files: a small archive may unpack to any size."""
TELLING_CODE = 100
"""Bytes of byte-code: above this size two equal functions are copies, not a coincidence."""
DOCUMENTS = (".md", ".rst", ".txt", ".html", ".ipynb", ".adoc", ".tex", ".xml", ".json", ".csv", ".log", "")


BEFORE = re.compile(rb"^(?:\s|[+<>#!*|;%-]|//|/\*|[\w./-]{1,200}[:-]\d+[:-]|\d+[\s:|.,)]|\[?[\"'])+")
AFTER = b"\"', "
"""What stands around a line of code in a listing: comment signs, places, numbers, quotes."""
TAG = re.compile(rb"</?[a-zA-Z][^<>\n]*>")
LEAST_TURNED, MOST_TURNED = 16, 4 * 1024 * 1024
"""Bytes: the shortest line that is searched in other forms, and the largest content that it is searched in."""
LETTERS = bytes(range(97, 123))
ROT13 = bytes.maketrans(
    LETTERS + LETTERS.upper(), (LETTERS[13:] + LETTERS[:13]) + (LETTERS[13:] + LETTERS[:13]).upper()
)
WORD = frozenset(LETTERS + LETTERS.upper() + b"_0123456789")
MARSHALLED = re.compile(rb"[\xe3c](?:.\0\0\0){3}", re.DOTALL)
"""What code that was written by `marshal` alone begins with: small numbers, which no text holds."""
MOST_MEMORY = 2 * 1024 * 1024 * 1024
"""Bytes that marshalled data may ask for: five of them can say that billions follow, and memory is taken at once."""
ESCAPED = (b"\\t", b"\\n", b"\\r")
"""Escape sequences in a printed text: their letter stands directly before a line that it does not belong to."""
CODED = re.compile(rb"[A-Za-z0-9+/\r\n]{160,}={0,2}")


def functions(code, out):
    """What each function of compiled code is made of, without its place. Comprehensions and lambdas are alike in
    many programs and tell nothing."""
    if code.co_name[:1] != "<":
        plain = tuple(
            hex(c) if type(c) is int else repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)
        )  # a number of thousands of digits is not written in tens
        out.add((code.co_name, code.co_code, plain, code.co_names))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            functions(constant, out)
    return out


def turned(line):
    """The line, and forms of it that are still text: backwards and by rot13."""
    others = (line[::-1], line.translate(ROT13))
    return [line, *(form for form in others if form != line)]


def stands_in(line, data):
    """Is it there, and not as the beginning or end of a longer word?"""
    at = data.find(line)
    while at >= 0:
        before = b"" if data[max(0, at - 2) : at] in ESCAPED else data[at - 1 : at]
        around = before + data[at + len(line) : at + len(line) + 1]
        if not any(byte in WORD for byte in around):
            return True
        at = data.find(line, at + 1)
    return False


class Search:
    def __init__(self, wanted, installed):
        self.installed = installed
        self.left = MOST_UNPACKED
        self.lines = {line.encode("utf-8", "surrogateescape"): index for index, line in enumerate(wanted["lines"])}
        self.forms = {index: turned(line) for line, index in self.lines.items() if len(line) >= LEAST_TURNED}
        self.common, self.partly = set(wanted["common"]), set(wanted["partly"])
        self.context = {line.encode("utf-8", "surrogateescape") for line in wanted["context"]}
        self.code = {}
        for stem, before, after in wanted["python"]:
            try:
                had = functions(compile(before, "x", "exec"), set())
                lost = had - functions(compile(after, "x", "exec"), set())
            except (SyntaxError, ValueError):
                continue
            self.code.update((function, stem) for function in lost)
        self.found = []

    def look(self, where, name, data, depth=0):
        """One piece of content, and what is packed into it."""
        raw = data
        kind = "document" if os.path.splitext(name)[1].lower() in DOCUMENTS else "file"
        if name.endswith((".html", ".htm", ".xml")):
            data = TAG.sub(b"", data)
            data = html.unescape(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if name.endswith((".ipynb", ".json")):
            data = data.replace(b'\\"', b'"').replace(b'", "', b"\n")
        if data[:400].count(0) * 5 >= 2 * len(data[:400]) > 0:
            data = data.replace(b"\0", b"")  # UTF-16 and UTF-32
        lines = set(map(bytes.strip, re.split(rb"\r\n?|\n|\\n", data)))
        lines |= {line[1:].strip() for line in lines if line[:1] in (b"+", b"-", b"<", b">", b"#")}  # patches, comments
        if not where.startswith(self.installed):
            lines |= {BEFORE.sub(b"", line).rstrip(AFTER) for line in lines if not line[:1].isalpha() or b":" in line}
        hit = {self.lines[line] for line in lines & self.lines.keys()}
        if kind == "file":
            hit -= self.common
        if hit:
            self.found.append([where, kind, sorted(hit), len(lines & self.context)])
        if self.code and (raw[2:4] == b"\r\n" or MARSHALLED.match(raw)) and self.compiled(where, raw):
            self.found.append([where, "compiled", list(range(len(self.lines))), 0])
        if not where.startswith(self.installed) and len(data) <= MOST_TURNED:
            self.forms_of(where, kind, data)
        if depth < DEPTH:
            coded = () if where.startswith(self.installed) else decoded(data)
            for inner, content in unpacked(raw):
                self.left -= len(content)
                if self.left < 0:
                    break
                self.look(where + "!" + inner, inner or name.rpartition(".")[0], content, depth + 1)
            for content in coded:
                self.look(where + "!", name, content, depth + 1)

    def forms_of(self, where, kind, data):
        """Lines that stand in something else, as in a pickle or a printed list, and lines in other forms."""
        inside = {index for index, forms in self.forms.items() if stands_in(forms[0], data)}
        if kind == "file":
            inside -= self.partly
        if inside:
            self.found.append([where, kind, sorted(inside), sum(line in data for line in self.context)])
        others = {index for index, forms in self.forms.items() if any(form in data for form in forms[1:])}
        if others:
            self.found.append([where, "turned", sorted(others), len(self.context)])

    def compiled(self, where, data):
        """Does compiled Python hold a function that was lost? A short function may belong to another program: its path
        must then name the module."""
        for start in (0,) if MARSHALLED.match(data) else (16, 12, 8):
            try:
                found = functions(loaded(data[start:]), set()) & self.code.keys()
            except Exception:  # not code, or code that no compiler makes
                continue
            else:
                return any(len(lost[1]) >= TELLING_CODE or self.code[lost] in where for lost in found)
        return False


def loaded(data):
    """What `marshal` wrote, or an exception."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY if soft < 0 else min(soft, MOST_MEMORY), hard))
    try:
        return marshal.loads(data)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def unpacked(data):
    """(name, content) of what an archive or a compressed file holds."""
    try:
        if data[:4] == b"PK\3\4" or b"PK\5\6" in data[-66000:]:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for member in archive.infolist():
                    if member.file_size <= MOST_BYTES:
                        yield member.filename, archive.read(member)
        elif data[257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                for member in archive:
                    if member.isfile() and member.size <= MOST_BYTES:
                        yield member.name, archive.extractfile(member).read()
        elif data[:2] == b"\x1f\x8b":
            yield "", gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BYTES)
        elif data[:3] == b"BZh":
            yield "", bz2.BZ2File(io.BytesIO(data)).read(MOST_BYTES)
        elif data[:6] == b"\xfd7zXZ\0" or data[:3] == b"\x5d\0\0":
            yield "", lzma.LZMADecompressor().decompress(data, MOST_BYTES)
        elif data[:2] in (b"\x78\x01", b"\x78\x9c", b"\x78\xda"):
            yield "", zlib.decompressobj().decompress(data, MOST_BYTES)
    except Exception:
        return


def decoded(data):
    """The contents of base64 or hexadecimal text, of a mail, or of a pickle's strings."""
    if b"=3D" in data:
        yield binascii.a2b_qp(data)
    if data[:1] in (b"\x80", b"(", b"]") and data[-1:] == b"." and len(data) <= MOST_TURNED:
        try:
            texts = [found for _, found, _ in pickletools.genops(data) if isinstance(found, str)]
            yield "\n".join(texts).encode("utf-8", "surrogateescape")
        except Exception:
            pass  # not a pickle
    for found in itertools.islice(CODED.finditer(data), 100):
        text = b"".join(found[0].split()).decode()
        for decode in (base64.b64decode, bytes.fromhex):
            try:
                yield decode(text)
            except ValueError:
                continue
