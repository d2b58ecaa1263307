"""Reads files of an image, which are a stranger's, out of a container that was never started.

An engine sends a folder with all that is in it, and waits for ever on a named pipe. So it is asked what is there first.
"""

import contextlib
import io
import tarfile
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from docker.errors import APIError, NotFound
from docker.utils import decode_json_header

from selfplay.sandbox.docker.client import ImageUnusable

LARGEST_TEXT = 1 << 20
LARGEST_COPY = 5 << 30
ROOM_OF_TAR = 1 << 16
"""Bytes of an archive beside the content of its one file."""
GO_MODE_DIR, GO_MODE_LINK = 1 << 31, 1 << 27
GO_MODE_TYPE = GO_MODE_DIR | GO_MODE_LINK | 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21 | 1 << 19
"""The bits of what is no regular file: folder, link, device, pipe, socket, character device, irregular."""


def status(api: Any, container: str, path: str) -> tuple[int, int]:
    """(Go's file mode, size) of a path. Raises `NotFound`."""
    place = f"{api.base_url}/v{api.api_version}/containers/{container}/archive"
    answer = api.head(place, params={"path": path}, timeout=api.timeout)
    if answer.status_code == 404:
        raise NotFound(f"there is no {path}")
    if not answer.ok:
        raise APIError(f"{path} of the image cannot be looked at: {answer.status_code} {answer.reason}")
    said = decode_json_header(answer.headers["X-Docker-Container-Path-Stat"])
    return int(said["mode"]), int(said["size"])


def text_file(api: Any, container: str, path: str) -> bytes:
    """A small file; empty if there is none, or a link. Raises `ImageUnusable` for anything else."""
    try:
        mode, size = status(api, container, path)
    except NotFound:
        return b""
    if mode & GO_MODE_LINK:
        return b""
    if mode & GO_MODE_TYPE or size > LARGEST_TEXT:
        raise ImageUnusable(f"{path} of the image is no file of at most {LARGEST_TEXT} bytes", "Mend the image.")
    data = b"".join(counted(api, container, path, LARGEST_TEXT + ROOM_OF_TAR))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        first = tar.next()
        stream = tar.extractfile(first) if first is not None and first.isreg() else None
        return stream.read() if stream is not None else b""


def folder(api: Any, container: str, path: str) -> IO[bytes] | None:
    """A folder as a tar archive in a temporary file; None if there is no such folder. Raises `ImageUnusable`."""
    try:
        mode, _ = status(api, container, path)
    except NotFound:
        return None
    if not mode & GO_MODE_DIR:
        return None
    with contextlib.ExitStack() as until_whole:
        archive = until_whole.enter_context(tempfile.TemporaryFile())
        for piece in counted(api, container, path, LARGEST_COPY):
            archive.write(piece)
        archive.seek(0)
        until_whole.pop_all()
    return archive


def counted(api: Any, container: str, path: str, most: int) -> Iterator[bytes]:
    """The archive of a path, in pieces. Raises `ImageUnusable` when it is longer than `most`, whatever the engine said
    of its size."""
    pieces, _ = api.get_archive(container, path)
    with contextlib.closing(pieces):
        for piece in pieces:
            most -= len(piece)
            if most < 0:
                raise ImageUnusable(f"{path} of the image is too large to be read", "Name or make a smaller one.")
            yield piece
