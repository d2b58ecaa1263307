"""Looks through a folder before a command writes into it: what somebody shared must lead nowhere else, and nobody else
may put another thing in it meanwhile."""

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from selfplay.artifact.reading import LINKS, MOST_DEPTH, MOST_ENTRIES, UntrustedDataError, refuse_second_name
from selfplay.formatting import shortened
from selfplay.owned_folders import is_trusted, others_may_write


def refuse_strange_below(
    root: Path, most: int = MOST_ENTRIES, unread: Collection[str] = (), *, alone: bool = False
) -> None:
    """Raises `UntrustedDataError` unless all below `root` is regular files and folders, `most` at most and none deeper
    than `MOST_DEPTH`: what is written into a folder that somebody shared would else be written where a link leads. No
    file may have a second name either, which an archive can give to a file beside the folder. `root` may be absent, or
    a link.

    `unread`: names of folders in `root` that are not looked into. `alone`: nobody but this user may change a folder of
    them, or what was looked at would be another thing a moment later; what stood open has been opened, perhaps, so a
    closed folder around it does not count. What another process removes meanwhile is passed over.
    """
    if alone and root.exists():
        _refuse_others(root.stat(), root)
    found, folders, depth = 0, [str(root)] if root.exists() else [], str(root).count("/")
    closed = {os.path.join(root, name) for name in unread}  # noqa: PTH118 - as `scandir` joins them
    while folders:
        for entry in _entries(folders.pop()):
            found += 1
            if found > most:
                raise UntrustedDataError(f"{root} holds more than {most} files")
            if entry.path.count("/") - depth > MOST_DEPTH:
                raise UntrustedDataError(f"{shortened(entry.path)} lies deeper than {MOST_DEPTH} folders", LINKS)
            if entry.is_dir(follow_symlinks=False):
                if alone:
                    _refuse_others(entry.stat(follow_symlinks=False), entry.path)
                folders += [] if entry.path in closed else [entry.path]
            elif not entry.is_file(follow_symlinks=False):
                raise UntrustedDataError(f"{shortened(entry.path)} is not a regular file", LINKS)
            else:
                with contextlib.suppress(FileNotFoundError):  # it is gone
                    refuse_second_name(entry.stat(follow_symlinks=False), entry.path)


def _refuse_others(status: os.stat_result, folder: Path | str) -> None:
    if others_may_write(status, folder) or not is_trusted(status.st_uid):
        raise UntrustedDataError(
            f"{shortened(folder)} can be changed by another user while it is written to",
            "Copy the run to a place of your own, `chmod -R go-w` the copy, and name it.",
        )


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return
    except OSError as error:  # too deep, or closed
        raise UntrustedDataError(f"{shortened(folder)} cannot be read: {error.strerror}", LINKS) from error
