"""Copies folders with files that only root can read for the sandbox's user; measures them before writing anything.

The host makes the copy, with the same limits as the sandbox has for reading, and a time limit. The tree's owner may
change it meanwhile, so it is read by descriptors, through no link, and with its owner's rights only: the copy contains
nothing that the owner could not read.
"""

import contextlib
import os
import stat
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

from selfplay import subprocesses
from selfplay.repository.errors import BadStream, SourceError, TooLarge
from selfplay.repository.fetching.find_repository import is_bare
from selfplay.repository.fetching.hard_links import SeenNames, is_object
from selfplay.repository.fetching.local import MAX_TREE_BYTES
from selfplay.repository.fetching.reading import SOURCE
from selfplay.repository.files.confined_write import PAGE
from selfplay.repository.files.unpack import StreamBounds, Unpacked, unpack
from selfplay.repository.inside import pack
from selfplay.sandbox import Mount

BOUNDS = StreamBounds(bytes=MAX_TREE_BYTES, entries=100_000)
SOURCE_SECONDS, RUN_SECONDS = 300.0, 20.0
"""The limits for a folder that the user named, and for a run's original, which may come from anybody."""
MOST_SAID = 4096
READABLE = "Make its files readable for all, or name a part of it."


def copied(
    mounts: Sequence[Mount],
    whose: int,
    work: Path,
    owner: tuple[int, int],
    shown: str,
    seconds: float,
    *,
    skipped: Collection[str] = (),
) -> tuple[Mount, ...]:
    """The mounts, replaced by copies that belong to `owner`: regular files, folders and inner links. Raises
    `SourceError`; if they are too large, before anything is written. Also for a file that has another name elsewhere,
    which a copy would not show.

    `whose`: the uid that owned the mounted folders when they were located; if it is root, each mount's own owner.
    `skipped`: names of folders of which nothing is taken, where files may have names elsewhere: an environment is often
    linked from a cache."""
    deadline = time.monotonic() + seconds
    try:
        measure((mount.source for mount in mounts), BOUNDS, deadline)
        left, made = BOUNDS, []
        for mount in mounts:
            target = work / f"copy-of{mount.target.replace('/', '-')}"
            left = left.less(_copy(mount.source, whose, target, left, owner, deadline))
            made.append(replace(mount, source=target if mount.source.is_dir() else target / mount.source.name))
        _refuse_hard_links(mounts, skipped)
    except TooLarge as error:
        raise SourceError(f"{shown} cannot be copied: {error}", READABLE) from error
    except (BadStream, TimeoutError) as error:
        why = f"it takes more than {seconds:.0f} s" if time.monotonic() >= deadline else str(error)
        raise SourceError(f"{shown} cannot be copied: {why}", READABLE) from error
    return tuple(made)


def measure(folders: Iterable[Path], bounds: StreamBounds, deadline: float) -> None:
    """Raises `TooLarge` if the folders have more entries, or more bytes (by file size, holes included); `TimeoutError`
    if this takes too long."""
    entries = total = 0
    for folder in folders:
        for _, status in _statuses(folder):
            entries += 1
            total += -(-status.st_size // PAGE) * PAGE if stat.S_ISREG(status.st_mode) else 0
            if entries > bounds.entries:
                raise TooLarge(f"it has more than {bounds.entries:,} files and folders")
            if total > bounds.bytes:
                raise TooLarge(f"its files take more than {bounds.bytes:,} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError


def _refuse_hard_links(mounts: Sequence[Mount], skipped: Collection[str]) -> None:
    names = SeenNames()
    for mount in mounts:
        bare = mount.target == SOURCE and is_bare(mount.source)  # of which git reads the objects alone
        for path, status in _statuses(mount.source):
            if bare and path.startswith(b"objects/"):
                continue
            inside = f"{mount.target}/{os.fsdecode(path)}".rstrip("/")
            if not is_object(inside) and not any(part.lower() in skipped for part in inside.split("/")):
                names.add(inside.split("/", 2)[-1], status)
    names.refuse()


def _statuses(folder: Path) -> Iterator[tuple[bytes, os.stat_result]]:
    """The path and status of everything below a folder, or of a single file. It may change meanwhile, so the copy
    counts again."""
    if stat.S_ISREG((own := folder.lstat()).st_mode):
        yield b"", own
    with contextlib.suppress(OSError), pack.opened(folder) as below:
        waiting = [b""]
        while waiting:
            path = waiting.pop()
            with below.listing(path) as found:
                for entry in found:
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        name = path + b"/" + os.fsencode(entry.name) if path else os.fsencode(entry.name)
                        yield name, status
                        if stat.S_ISDIR(status.st_mode) and path.count(b"/") < pack.DEPTH:
                            waiting.append(name)


def _copy(
    source: Path, whose: int, target: Path, bounds: StreamBounds, owner: tuple[int, int], deadline: float
) -> Unpacked:
    """Copy one folder, or one file of a folder, read by descriptors in a separate program, which ends at the
    deadline."""
    target.mkdir()
    folder, only = (source.parent, [source.name]) if stat.S_ISREG(source.lstat().st_mode) else (source, [])
    whose = whose or folder.lstat().st_uid
    reader = (str(pack.__file__), os.fspath(folder.absolute()), "--owner", str(whose), *only)
    command = [sys.executable, "-I", "-S", "-B", *reader]
    with subprocesses.start(command, stdout=subprocesses.PIPE, stderr=subprocesses.PIPE) as process:
        alarm = threading.Timer(max(0.0, deadline - time.monotonic()), process.kill)
        alarm.start()
        try:
            done = unpack(cast("IO[bytes]", process.stdout), target, bounds, owner=owner, git=True)
            if process.wait() != 0:
                raise BadStream("it cannot be read")
        except BaseException as error:
            process.kill()
            if isinstance(error, BadStream) and (said := _last_line(cast("IO[bytes]", process.stderr))):
                raise BadStream(said) from error
            raise
        finally:
            alarm.cancel()
    return done


def _last_line(stream: IO[bytes]) -> str:
    """The program's last line: why it did not read the folder."""
    return stream.read(MOST_SAID).decode("utf-8", "replace").strip().rpartition("\n")[2]
