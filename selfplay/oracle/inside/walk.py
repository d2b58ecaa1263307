"""Search all that a solver can read. Run after the text of `search.py`, as one program: `Search` is defined there.

Roots are arguments, the needles JSON on stdin. Prints JSON: a list of [where, kind, needles found, number of context
lines found].
"""

import json
import os
import re
import stat
import subprocess
import sys

OWN = 3
"""The first so many roots are the tree and the solver's folders; the others are installed packages."""
STORED = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}|pack-[0-9a-f]+\.(?:pack|idx|rev)|multi-pack-index|commit-graph")
"""Files of a git store that git itself has read."""


def objects(folder, search):
    """Every object of a git store, reachable or not, packed or loose. Could git read it?"""
    command = ["git", "--git-dir", folder, "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        return False
    data, at = done.stdout, 0
    while at < len(data):
        end = data.index(b"\n", at)
        oid, kind, size = data[at:end].split(b" ")
        content = data[end + 1 : end + 1 + int(size)]
        if kind == b"blob" or kind == b"commit":
            search.look(folder + "#" + oid.decode()[:12], "x.code", content)
        at = end + 2 + int(size)
    return True


def main(roots):
    search = Search(json.load(sys.stdin), tuple(roots[OWN:]))
    for root in roots:
        read = ()
        for here, folders, names in os.walk(root):
            if "objects" in folders and "HEAD" in names and objects(here, search):
                read += (os.path.join(here, "objects", ""),)
            stored = read and here.startswith(read)
            for name in names:
                path = os.path.join(here, name)
                if stored and STORED.fullmatch(name):
                    continue
                try:
                    status = os.lstat(path)
                    if stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES:
                        with open(path, "rb") as stream:
                            search.look(path, name, stream.read())
                    elif stat.S_ISLNK(status.st_mode):
                        search.look(path, "link", os.fsencode(os.readlink(path)))
                except OSError:
                    continue
    json.dump(search.found, sys.stdout)


main(sys.argv[1:])
