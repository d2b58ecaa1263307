"""Reads untrusted files of a run's folder. Only this module decides which files are read.

Below the folder that the user named, no link is followed, and only regular files of one name are read: a link of
either kind leads elsewhere, a FIFO blocks, a device never ends. The size is checked before the first byte is read, so a
sparse file costs nothing. The named folder itself may be a link, because the user chose it.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from selfplay.errors import SelfplayError
from selfplay.formatting import shortened
from selfplay.plain_text import safe_relative

MIB = 1024 * 1024
MOST_ENTRIES = 20_000
"""The most entries of one folder of a run; a larger folder is refused before the rest is listed."""
MOST_DEPTH = 16
"""How deep folders lie in a run; ours are four deep. Python's own tools for folders recurse."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class UntrustedDataError(SelfplayError):
    """A file or a value of a run's folder that is refused."""


class MissingError(UntrustedDataError):
    """A file that does not exist."""


def read_below(folder: Path, name: str, most: int) -> bytes:
    """The content of the regular file `name` (relative, plain) below `folder`, at most `most` bytes.

    Raises `MissingError` if there is no such file, and `UntrustedDataError` for a link on the way, for anything but a
    regular file with one name, and for a larger file."""
    with opened_below(folder, name, most) as stream:
        return _whole(stream, folder / name, most)


@contextmanager
def opened_below(folder: Path, name: str, most: int) -> Iterator[IO[bytes]]:
    """Like `read_below`, for a caller that reads piece by piece."""
    path = folder / name
    if safe_relative(name) is None:
        raise UntrustedDataError(f"{name[:200]!r} is not a name of a file in {folder}")
    try:
        number = _open_below(folder, name.split("/"))
    except (FileNotFoundError, NotADirectoryError) as error:
        if os.path.lexists(path):
            raise UntrustedDataError(f"{path} is not a regular file", LINKS) from error
        raise MissingError(f"{path} is missing") from error
    except OSError as error:
        if os.path.islink(path):  # noqa: PTH114 - a name of any length
            raise UntrustedDataError(f"{path} is not a regular file", LINKS) from error
        raise UntrustedDataError(f"{shortened(path)} cannot be read: {error.strerror}") from error
    with _checked(number, path, most) as stream:
        refuse_second_name(os.fstat(number), path)
        yield stream


def refuse_second_name(status: os.stat_result, path: object) -> None:
    """Raises `UntrustedDataError` for a hard link: an archive can give a file beside the run a name in it."""
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise UntrustedDataError(f"{shortened(str(path))} is a hard link: it is another file, too", COPY)


LINKS = "A run's folder holds regular files and folders, no links."
COPY = "Make a copy of the folder without hard links (cp -r), and use that."


def read_named(path: Path, most: int) -> bytes:
    """The content of a file that the user named, at most `most` bytes; links are followed. Raises what `read_below`
    raises."""
    with opened_named(path, most) as stream:
        return _whole(stream, path, most)


@contextmanager
def opened_named(path: Path, most: int) -> Iterator[IO[bytes]]:
    """Like `read_named`, for a caller that reads piece by piece. A pipe from a shell (`/dev/fd/63`, `/dev/stdin`) is
    read too; the caller must stop at its own limit."""
    if path.is_relative_to("/dev"):
        with path.open("rb") as stream:
            yield stream
        return
    try:
        number = os.open(path, _FILE & ~os.O_NOFOLLOW)
    except FileNotFoundError as error:
        raise MissingError(f"{path} is missing") from error
    except (OSError, ValueError) as error:
        raise UntrustedDataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    with _checked(number, path, most) as stream:
        yield stream


def of_hub(folder: Path, kind: str) -> Path | None:
    """The hub's folder of a model or dataset (`kind`: models, datasets) of which `folder` is a snapshot: its files are
    links to blobs there. None for any other folder."""
    place = folder.parent.parent
    return place if folder.parent.name == "snapshots" and place.name.startswith(f"{kind}--") else None


def existing_folder(root: Path, *names: str) -> Path | None:
    """The folder `root/names...`; None if it is absent. Raises `UntrustedDataError` for a link or a file in its
    place, and for a name that is a path."""
    place = root
    for name in names:
        if name in ("", ".", "..") or "/" in name:
            raise UntrustedDataError(f"{name[:80]!r} is not a name of a folder in {root}")
        place /= name
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UntrustedDataError(f"{shortened(place)} cannot be read: {error.strerror}") from error
        if not stat.S_ISDIR(mode):
            raise UntrustedDataError(f"{place} is not a folder", LINKS)
    return place


def ensured_folder(root: Path, *names: str) -> Path:
    """The folder `root/names...`, created if absent. Raises what `existing_folder` raises."""
    for depth in range(1, len(names) + 1):
        if existing_folder(root, *names[:depth]) is None:
            root.joinpath(*names[:depth]).mkdir(parents=depth == 1, exist_ok=True)
    return root.joinpath(*names)


def listed_below(root: Path, *names: str, most: int = MOST_ENTRIES) -> list[str]:
    """The sorted names in the folder `root/names...`; empty if it is absent. Raises `UntrustedDataError` for a folder
    with more than `most` entries, or one that cannot be opened."""
    if existing_folder(root, *names) is None:
        return []
    found: list[str] = []
    try:
        folder = _folder_opened(root, names)
    except OSError as error:
        raise UntrustedDataError(f"{shortened(root.joinpath(*names))} cannot be read: {error.strerror}") from error
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.append(entry.name)
                if len(found) > most:
                    raise UntrustedDataError(f"{root.joinpath(*names)} holds more than {most} entries")
    finally:
        os.close(folder)
    return sorted(found)


def _open_below(folder: Path, parts: list[str]) -> int:
    """A descriptor of the file, reached through no link below the folder."""
    at = _folder_opened(folder, parts[:-1])
    try:
        return os.open(parts[-1], _FILE, dir_fd=at)
    finally:
        os.close(at)


def _folder_opened(root: Path, names: Sequence[str]) -> int:
    """A descriptor of this folder; each folder on the way is opened from its parent's descriptor."""
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names:
        try:
            inner = os.open(name, _FOLDER, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    return at


def _checked(number: int, path: Path, most: int) -> IO[bytes]:
    """The open file as a stream; closed if it is refused."""
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise UntrustedDataError(f"{path} is not a regular file", LINKS)
        if status.st_size > most:
            raise UntrustedDataError(f"{path} is {status.st_size} bytes; at most {most} are taken")
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def _whole(stream: IO[bytes], path: Path, most: int) -> bytes:
    try:
        size = min(os.fstat(stream.fileno()).st_size, most)
        data = stream.read(size + 1)  # reading without a size would allocate too much
        if len(data) > size:
            data += stream.read(most + 1 - len(data))
    except OSError as error:
        raise UntrustedDataError(f"{shortened(path)} cannot be read: {error.strerror}") from error
    if len(data) > most:  # it grew meanwhile, or the file system reports no sizes
        raise UntrustedDataError(f"{path} is larger than {most} bytes")
    return data
