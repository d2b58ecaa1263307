"""Searches everything that a solver can read. The last part of the program inside the sandbox.

The roots are arguments; the needles are JSON on stdin. Prints JSON: what was found, what was left unread, and why the
search stopped early, if it did.
"""

import json
import os
import re
import stat
import sys

OWN = 3
"""This many roots come first, the tree and the solver's folders; the others are installed packages."""
STORED = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.(?:pack|idx|rev)|multi-pack-index|commit-graph")
"""Files of a git store that git itself reads."""
PART = re.compile(r"\d+|(?<=[a-z.])[a-z]{2}$|(?<=^x)[a-z]{2}$")
"""What differs between the names of a split file's parts: numbers, or the last two letters, as `split` makes them."""
MOST_PARTS, MOST_JOINED = 1000, 16 * 1024 * 1024


def store(folder, search):
    """Search the objects of a git store, except contents already searched as files; returns whether git could read
    it."""
    try:
        for oid, content in git_objects(folder, search.bounds):
            if hash(content) not in search.known:
                search.file(folder + "#" + oid, "x.code", content)
    except (ValueError, OSError):
        return False
    return True


def content(path, search):
    """(kind of file, its content), or None for what has no content."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return "link", os.fsencode(os.readlink(path))
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > MOST_BYTES:
            if not path.startswith(search.installed):
                search.bounds.leave(path, "larger than %d MiB" % (MOST_BYTES >> 20))
            return None
        with open(path, "rb") as stream:
            return os.path.basename(path), stream.read()
    except OSError as error:
        search.bounds.leave(path, str(error.strerror))
        return None


def folder(here, names, search, joined):
    """Search every file of a folder; files whose names differ by a number are also searched joined."""
    parts = {}
    for name in names:
        path = os.path.join(here, name)
        found = content(path, search)
        if found:
            search.file(path, *found)
            if joined and found[0] == name:
                parts.setdefault(PART.sub("*", name), []).append((len(name), path, len(found[1])))
    for name, pieces in parts.items():
        if 1 < len(pieces) <= MOST_PARTS and sum(size for _, _, size in pieces) <= MOST_JOINED:
            found = [content(path, search) for _, path, _ in sorted(pieces)]  # read again, to save memory
            search.file(os.path.join(here, name), name, b"".join([piece[1] for piece in found if piece]))


def walk(roots, search):
    stores = []
    for number, root in enumerate(roots):
        for here, folders, names in os.walk(root):
            if "objects" in folders and "HEAD" in names:
                stores.append(here)
                folders.remove("objects")
            folder(here, names, search, number < OWN)
    for place in stores:  # last, since most of their contents are also in the tree
        read = store(place, search)
        for here, _, names in os.walk(os.path.join(place, "objects")):
            folder(here, [name for name in names if not (read and STORED.fullmatch(name))], search, False)


def main(roots):
    search, stopped = Search(json.load(sys.stdin), tuple(roots[OWN:]), Bounds().arm()), ""
    try:
        walk(roots, search)
    except Spent as spent:
        stopped = str(spent)
    search.bounds.disarm()
    search.together()
    found = [[where, *seen] for where, seen in search.found.items()]
    json.dump({"found": found, "unread": search.bounds.unread, "stopped": stopped or search.failed}, sys.stdout)


main(sys.argv[1:])
