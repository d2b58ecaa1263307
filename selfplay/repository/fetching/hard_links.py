"""Files of a source that have another name outside of it: a hard link, by which an archive can bring in a file that
lies beside the folder it is unpacked in, although no link leads there.

Such a file looks like any other, and the kernel cannot say where its other names are. So names are counted: a file
with more names than were seen has one elsewhere. Of a git folder's objects that is allowed, because `git clone` links
them, and nobody can name an object who does not know its content.
"""

import os
import stat

from selfplay.repository.errors import SourceError

COPY = "Name a copy of it: `cp -r` gives every file one name again."


class SeenNames:
    """The files seen so far that have several names."""

    def __init__(self) -> None:
        self._left: dict[tuple[int, int], tuple[int, str]] = {}

    def add(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            left, first = self._left.get((status.st_dev, status.st_ino), (status.st_nlink, path))
            self._left[status.st_dev, status.st_ino] = left - 1, first

    def refuse(self) -> None:
        """Raises `SourceError` if a file has a name that was not seen."""
        for left, path in self._left.values():
            if left > 0:
                raise outside(path)


def outside(path: str) -> SourceError:
    return SourceError(f"{path[:200]!r} has another name outside of it (a hard link): it may be another's file", COPY)


def is_object(inside: str) -> bool:
    """Whether a path inside the sandbox lies among the objects of a git folder, which no tree is taken from."""
    parts = inside.split("/")
    own = parts[parts.index(".git") + 1 :] if ".git" in parts else parts[2:] if parts[1] == "common" else []
    return "objects" in own and "refs" not in own
