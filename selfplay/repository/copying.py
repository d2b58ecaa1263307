"""Folders with files that only root can read, copied for the sandbox's user: measured before anything is written.

The copy is made on the host, so it has the bounds that the sandbox has for what it reads, and ends in time.
"""

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

from selfplay import host
from selfplay.repository.beneath import PAGE
from selfplay.repository.errors import BadStream, SourceError, TooLarge
from selfplay.repository.inside import pack
from selfplay.repository.local import MAX_TREE_BYTES
from selfplay.repository.unpack import Bounds, Unpacked, unpack
from selfplay.sandbox import Mount

BOUNDS = Bounds(bytes=MAX_TREE_BYTES, entries=100_000)
SOURCE_SECONDS, RUN_SECONDS = 300.0, 20.0
"""For a folder that the user named, and for the original of a run, which anybody may have made."""
READABLE = "Make its files readable for all, or name a part of it."


def copied(
    mounts: Sequence[Mount], work: Path, owner: tuple[int, int], shown: str, seconds: float
) -> tuple[Mount, ...]:
    """The mounts, leading to copies that belong to `owner`: regular files, folders and links that stay inside. Raises
    `SourceError`; before anything is written, where they have too much."""
    deadline = time.monotonic() + seconds
    try:
        measure((mount.source for mount in mounts), BOUNDS, deadline)
        left, made = BOUNDS, []
        for mount in mounts:
            target = work / f"copy-of{mount.target.replace('/', '-')}"
            left = left.less(_copy(mount.source, target, left, owner, deadline))
            made.append(replace(mount, source=target))
    except TooLarge as error:
        raise SourceError(
            f"{shown} has files that only root can read, and cannot be copied: {error}", READABLE
        ) from error
    except (BadStream, TimeoutError) as error:
        why = f"it takes more than {seconds:.0f} s" if time.monotonic() >= deadline else str(error)
        raise SourceError(
            f"{shown} has files that only root can read, and cannot be copied: {why}", READABLE
        ) from error
    return tuple(made)


def measure(folders: Iterator[Path], bounds: Bounds, deadline: float) -> None:
    """Raises `TooLarge` where the folders have more entries, or more bytes by the sizes that files claim, holes too;
    `TimeoutError` when that takes too long."""
    waiting = list(folders)
    entries = total = 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    status = entry.stat(follow_symlinks=False)
                    entries += 1
                    total += -(-status.st_size // PAGE) * PAGE if stat.S_ISREG(status.st_mode) else 0
                    if entries > bounds.entries:
                        raise TooLarge(f"it has more than {bounds.entries:,} files and folders")
                    if total > bounds.bytes:
                        raise TooLarge(f"its files take more than {bounds.bytes:,} bytes")
                    if time.monotonic() > deadline:
                        raise TimeoutError
                    waiting += [Path(entry.path)] if stat.S_ISDIR(status.st_mode) else []
        except TimeoutError:
            raise
        except OSError:  # it changes under us: what is there when it is copied is counted again
            continue


def _copy(source: Path, target: Path, bounds: Bounds, owner: tuple[int, int], deadline: float) -> Unpacked:
    """One folder's copy, read by descriptors in a program of its own, which ends at the deadline."""
    target.mkdir()
    command = [sys.executable, "-I", "-S", "-B", str(pack.__file__), os.fspath(source.absolute())]
    with host.start(command, stdout=host.PIPE) as process:
        alarm = threading.Timer(max(0.0, deadline - time.monotonic()), process.kill)
        alarm.start()
        try:
            done = unpack(cast("IO[bytes]", process.stdout), target, bounds, owner=owner)
        except BaseException:
            process.kill()
            raise
        finally:
            alarm.cancel()
    if process.returncode != 0:
        raise BadStream("it cannot be read")
    return done
