"""Removes git data from a tree, in any form: its history may hold the answer, and one cannot know what a history holds
without all of it. Run after `bounds.py`, `carve.py` and `unpack.py`, as one program.

On stdin, JSON: the paths to keep, because the task's own diffs change them. Prints JSON: path -> what was removed. The
folder `.git` at the root is left to `commit.sh`.
"""

import json
import os
import re
import stat
import struct
import sys
import zlib

NESTED = 6
"""How deep nested archives are opened."""
PARTS = (
    "HEAD", "FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "config", "description", "index", "packed-refs", "shallow",
    "hooks", "info", "refs", "logs", "branches", "modules", "worktrees", "lfs",
)  # fmt: skip
OBJECT = re.compile(rb"(?:blob|tree|commit|tag) \d{1,12}\0")
STREAM = re.compile(rb"(?:feature [^\n]{1,60}\n)*(?:reset refs/[^\n]{1,200}\n|blob\nmark :\d+\n|commit refs/)")
PACKED = (b"PK\3\4", b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"!<arch>\n", b"\x5d\0\0")
INSIDE = re.compile(r"(?:^|/)\.git/(?:objects|refs|logs|HEAD|packed-refs|index|modules)", re.IGNORECASE)


def git_data(data):
    """The kind of git data; empty if it is none."""
    if data[:4] == b"PACK" and data[4:8] in (b"\0\0\0\2", b"\0\0\0\3"):
        return "a pack"
    if data[:4] in (b"\xfftOc", b"MIDX", b"RIDX", b"CGPH", b"BITM", b"DIRC") and len(data) > 32:
        return "an index of git"
    if BUNDLE.match(data):
        return "a bundle"
    if STREAM.match(data):
        return "an exported history"
    if data[:1] == b"\x78" and len(data) > 8 and struct.unpack(">H", data[:2])[0] % 31 == 0:
        try:
            return "an object" if OBJECT.match(zlib.decompressobj().decompress(data[:512], 64)) else ""
        except zlib.error:
            return ""
    return ""


def archived(data):
    """Whether it is an archive or compressed."""
    return data.startswith(PACKED) or data[257:262] == b"ustar" or b"PK\5\6" in data[-66000:]


def hidden(data, where, bounds, depth=0):
    """The git data in this content, and where; empty if there is none."""
    said = git_data(data)
    if said or depth >= NESTED or not archived(data):
        return said
    for name, content in unpacked(data, where, bounds):
        said = "a git folder" if INSIDE.search(name) else hidden(content, where, bounds, depth + 1)
        if said:
            return said if " in " in said else "%s in %s" % (said, "an archive")
    return ""


def looked_at(path, bounds):
    """The git data that a file is or contains."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return ""
        with open(path, "rb") as stream:
            head = stream.read(1024)
            stream.seek(max(0, status.st_size - 66000))
            tail = stream.read() if status.st_size > 1024 else head
            said = git_data(head)
            if said or status.st_size > MOST_BYTES or not (archived(head) or b"PK\5\6" in tail):
                return said
            stream.seek(0)
            return hidden(stream.read(), path, bounds)
    except OSError:
        return ""


class Removed:
    """What was removed, and why something could not be."""

    def __init__(self):
        self.gone, self.stopped = {}, ""

    def remove(self, path, what):
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        except OSError as error:
            self.stopped = "%s: %s" % (path, error.strerror)
        else:
            self.gone[path] = what


def store(here, folders, names, removed):
    """Remove git's own parts of a store; other files there are checked like any file."""
    for name in PARTS:
        if name in folders or name in names:
            removed.remove(os.path.join(here, name), "a git store")
    folders[:] = [name for name in folders if name not in PARTS]
    names[:] = [name for name in names if name not in PARTS]


def strip(kept, removed, bounds):
    for here, folders, names in os.walk("."):
        if here != ".":
            for name in [name for name in (*folders, *names) if name.lower() == ".git"]:
                removed.remove(os.path.join(here, name), "a git folder")
        folders[:] = [name for name in folders if name.lower() != ".git"]
        if {"objects", "refs"} <= set(folders) and "HEAD" in names:
            store(here, folders, names, removed)
        for name in names:
            path = os.path.join(here, name)
            said = "" if path[2:] in kept else looked_at(path, bounds)
            if said:
                removed.remove(path, said)


def main(kept):
    removed, bounds = Removed(), Bounds(60.0).arm()
    try:
        strip(kept, removed, bounds)
    except Spent as spent:
        removed.stopped = str(spent)
    bounds.disarm()
    json.dump({"gone": removed.gone, "stopped": removed.stopped}, sys.stdout)


main(set(json.load(sys.stdin)))
