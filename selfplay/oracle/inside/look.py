"""Lists or packs the files of an untrusted tree: `look.py manifest` lists all, `look.py pack` packs those named on
stdin.

Runs as `python3 -I -S`, so that it imports nothing from the tree. It does not use git, whose index, attributes and
configuration a solver may have changed. `.git` folders are not part of a tree.
"""

import hashlib
import io
import os
import stat
import sys
import tarfile
import zlib

ROOT = b"."
MOST_BYTES = 1 << 29


def files():
    """Sorted (path, status) of everything that is not a folder; unreadable folders are made readable first."""
    for here, folders, names in os.walk(ROOT, onerror=None):
        folders[:] = sorted(name for name in folders if name.lower() != b".git")
        for name in list(folders):
            path = os.path.join(here, name)
            if os.path.islink(path):
                folders.remove(name)
                names.append(name)
            elif not os.access(path, os.R_OK | os.X_OK):
                os.chmod(path, 0o755)
        for name in sorted(names):
            if name.lower() != b".git":
                path = os.path.join(here, name)
                yield os.path.relpath(path, ROOT), os.lstat(path)


def digest(path, status):
    """(git's mode, digest) of a file or link; None for sockets, pipes and devices, which git does not keep."""
    if stat.S_ISLNK(status.st_mode):
        return b"120000", hashlib.sha256(os.readlink(path)).hexdigest().encode()
    if not stat.S_ISREG(status.st_mode):
        return None
    if not os.access(path, os.R_OK):
        os.chmod(path, status.st_mode | 0o400)
    found = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            found.update(block)
    return b"100755" if status.st_mode & 0o100 else b"100644", found.hexdigest().encode()


def manifest():
    entries = []
    for path, status in files():
        known = digest(path, status)
        entries.append(b" ".join(known or (b"0", b"0")) + b" " + path)
    return b"\0".join(entries)


class Pressed:
    """What is written is compressed, and goes on at once: a solver's files may be larger than the memory."""

    def __init__(self, out):
        self.out, self.press = out, zlib.compressobj()

    def write(self, data):
        self.out.write(self.press.compress(data))
        return len(data)

    def close(self):
        self.out.write(self.press.flush())


class Unpressed(io.RawIOBase):
    def __init__(self, data):
        self.rest, self.press = data, zlib.decompressobj()

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.press.decompress(self.rest, len(buffer))
        self.rest = self.press.unconsumed_tail
        buffer[: len(data)] = data
        return len(data)


def pack(paths):
    """Write these files to stdout, unless they are too large."""
    if sum(os.lstat(path).st_size for path in paths) > MOST_BYTES:
        sys.exit("the changed files have more than %d MiB" % (MOST_BYTES >> 20))
    pressed = Pressed(sys.stdout.buffer)
    with tarfile.open(fileobj=pressed, mode="w|") as archive:
        for path in paths:
            archive.add(os.fsdecode(path), recursive=False)
    pressed.close()


def unpack(data, gone):
    """Turn this tree into the other one: remove `gone`, then write what `pack` packed."""
    for path in gone:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
    for path in sorted(gone, reverse=True):
        folder = os.path.dirname(path)
        while folder and not os.path.islink(folder) and os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    with tarfile.open(fileobj=Unpressed(data), mode="r|") as archive:
        archive.extraction_filter = lambda member, path: member  # every name was checked outside
        for member in archive:
            if os.path.lexists(member.name):
                os.unlink(member.name)
            folder = os.path.dirname(member.name)
            if folder:
                os.makedirs(folder, exist_ok=True)
            archive.extract(member, ".")


def main(action):
    data = sys.stdin.buffer.read()
    if action == "manifest":
        sys.stdout.buffer.write(zlib.compress(manifest()))
    elif action == "pack":
        pack([path for path in data.split(b"\0") if path])
    else:
        names, _, packed = data.partition(b"\0\0")
        unpack(packed, [path for path in names.split(b"\0") if path])


main(sys.argv[1])
