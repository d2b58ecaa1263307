"""Unpacks a content: members of archives, rows of databases, objects of git, and compressed data.

Part of the search inside the sandbox, after `carve.py`.
"""

import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

CLOSED = {
    b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar", b"MSCF\0\0\0\0": "cab", b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress", b"LZIP": "lzip", b"\x89LZO\0": "lzop", b"PAR1": "parquet", b"\x89HDF\r\n": "hdf5",
}  # fmt: skip
"""Formats that are only reported as unread: no reader is available everywhere."""
SQLITE = b"SQLite format 3\0"
SWAP = b"b0VIM"
BUNDLE = re.compile(rb"# v[23] git bundle\n")


def unpacked(raw, where, bounds):
    """(name, content) of everything packed in this content, one level deep. Raises `Spent`."""
    for start, name in CLOSED.items():
        if raw.startswith(start):
            bounds.leave(where, "%s cannot be read" % name)
    reader = reader_of(raw)
    got = 0
    try:
        for name, content in reader(raw, where, bounds):
            got += 1
            if reader not in COUNTED:
                bounds.take(len(content))
            yield name, content
    except Spent:
        raise
    except Exception as error:  # damaged, or another format
        if reader is not carved:
            bounds.leave(where, "%s: %s" % (reader.__name__, str(error)[:80]))
    if reader is not carved and not got:
        yield from carved(raw, where, bounds)


def reader_of(raw):
    if raw[:4] == b"PK\3\4" or b"PK\5\6" in raw[-66000:]:
        return zipped
    if raw[257:262] == b"ustar":
        return tarred
    if raw.startswith(SQLITE):
        return stored
    if raw.startswith(SWAP):
        return swapped
    if raw[:4] == b"PACK" or BUNDLE.match(raw):
        return git_pack
    if raw[:3] == b"\x5d\0\0" and lzma:
        return lone_lzma
    return carved


def zipped(raw, where, bounds):
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        yield "", archive.comment
        for member in archive.infolist():
            if member.flag_bits & 1:
                bounds.leave(where + "!" + member.filename, "encrypted")
            elif member.file_size > MOST_BYTES:
                bounds.leave(where + "!" + member.filename, "too large")
            else:
                with archive.open(member) as stream:
                    yield member.filename, stream.read(MOST_BYTES)


def tarred(raw, where, bounds):
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:
            if member.isfile():
                if member.size > MOST_BYTES:
                    bounds.leave(where + "!" + member.name, "too large")
                elif member.issparse():  # the library takes the square of the number of its pieces
                    bounds.leave(where + "!" + member.name, "sparse")
                else:
                    yield member.name, archive.extractfile(member).read()


def stored(raw, where, bounds):
    """Every text and blob of a database, and all of them as lines of one text."""
    import sqlite3

    with scratch() as folder:
        path = os.path.join(folder, "copy")
        with open(path, "wb") as stream:
            stream.write(raw)
        database = sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True)
        try:
            database.text_factory = bytes
            database.set_progress_handler(lambda: bounds.check() or 0, 100000)
            lines, size = [], 0
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in rows_of(database, table):
                    for cell in row:
                        if isinstance(cell, bytes) and size < MOST_BYTES:
                            lines.append(cell)
                            size += len(cell)
        finally:
            database.close()
    yield "", b"\n".join(lines)
    for cell in lines:
        if len(cell) >= 64:
            yield "", cell


def rows_of(database, table):
    try:
        yield from database.execute('SELECT * FROM "%s"' % table.decode().replace('"', '""'))
    except Exception:
        return  # a virtual table without its module; its data is in tables of its own


def swapped(raw, where, bounds):
    """A vim swap file, with each block's lines put back into order: it stores them from last to first."""
    yield "", b"\n".join(reversed(raw.split(b"\0")))


def lone_lzma(raw, where, bounds):
    yield "", inflated(lzma.LZMADecompressor(), raw, 0, bounds)[0]


def git_pack(raw, where, bounds):
    """The objects of a pack or a bundle, as git reads them; of an incomplete pack, the readable ones."""
    if raw[:4] != b"PACK":
        raw = raw[raw.index(b"\n\n") + 2 :]
    with scratch() as folder:
        git(["init", "--quiet", "--bare", "--template=", folder], folder)
        if git(["index-pack", "--stdin"], folder, raw).returncode:
            git(["unpack-objects", "-q", "-r"], folder, raw)
        for name, content in git_objects(folder, bounds):
            yield name, content


def git(command, folder, data=b""):
    environment = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", HOME=folder, GIT_DIR=folder)
    return subprocess.run(
        ["git", *command], input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=folder
    )


def git_objects(folder, bounds):
    """(name, content) of every blob and commit of a git store, reachable or not, packed or loose. Raises `ValueError`
    when git cannot read the store."""
    command = ["git", "--git-dir", folder, "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            for head in iter(process.stdout.readline, b""):
                oid, kind, size = head.split(b" ")
                content = b""
                if int(size) <= MOST_BYTES:
                    content = process.stdout.read(int(size))
                else:
                    skip(process.stdout, int(size))
                    bounds.leave(folder + "#" + oid.decode()[:12], "too large")
                process.stdout.read(1)
                bounds.check()
                if kind in (b"blob", b"commit"):
                    yield oid.decode()[:12], content
        finally:
            process.kill()
    if process.returncode > 0:
        raise ValueError("git cannot read it")


def skip(stream, size):
    while size > 0:
        read = len(stream.read(min(size, BLOCK)))
        size -= read or size


class scratch:
    """A temporary folder outside everything that is searched."""

    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/var/tmp"

    def __enter__(self):
        self.path = tempfile.mkdtemp(dir=self.root)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


COUNTED = (carved, lone_lzma)
"""Readers that count what they unpack themselves."""
