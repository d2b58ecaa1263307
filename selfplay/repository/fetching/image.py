"""Takes a source from a container image that already has its dependencies, as the paper assumes: it is copied out, not
built.

The files that the image's git tracks become the tree and its history; other files there (built extensions, an egg-info)
are kept too. The image is untrusted: its git directory is read without settings and hooks, and our code writes its
files, inside one folder.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

from selfplay.repository.building.checking import NewFiles
from selfplay.repository.errors import BadStream, SourceError
from selfplay.repository.files.confined_write import Beneath
from selfplay.repository.files.entries import Header
from selfplay.repository.files.tar import Tar
from selfplay.repository.files.unpack import ANYWHERE, StreamBounds, write_out
from selfplay.repository.inside.pack import LINK
from selfplay.sandbox import Backend

BOUNDS = StreamBounds(bytes=4 << 30, entries=500_000)
GIT_PARTS = (b"HEAD", b"packed-refs", b"shallow", b"objects", b"refs")
GIT_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
LEFT_OUT = {".git", "__pycache__", ".pytest_cache"}
MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
HINT = "Name the folder in the image: image:/path."


@runtime_checkable
class HoldsImage(Protocol):
    """A backend whose sandboxes run a user's image."""

    @property
    def image_id(self) -> str:
        """The image's id; empty without an image."""
        ...

    def source_places(self) -> tuple[str, ...]:
        """Folders of the image that may contain a source, most likely first."""
        ...

    def copy_out(self, place: str) -> IO[bytes] | None:
        """A folder of the image as a tar archive; None if the image has no such folder."""
        ...

    def hide(self, place: str) -> None:
        """Make `place` a link to `/testbed` in every later sandbox, so that the image's own copy is never visible."""
        ...


def take_source(backend: Backend, path: str | None, folder: Path) -> str:
    """Copy the source in the backend's image into `folder`; returns its path in the image. Raises `SourceError`."""
    if not isinstance(backend, HoldsImage) or not backend.image_id:
        raise SourceError("the source is in an image, but no image was given", "Add --sandbox docker --image NAME.")
    for place in (path,) if path else backend.source_places():
        with_it = backend.copy_out(place)
        if with_it is None:
            continue
        with with_it as stream:
            unpack(stream, folder)
        if path or any((folder / mark).exists() for mark in MARKS):
            backend.hide(place)
            return place
    raise SourceError(f"the image contains no source at {path or 'any usual place'}", HINT)


def unpack(stream: IO[bytes], folder: Path) -> None:
    """Write the archive's single top folder as `folder`, with its files, folders and links. Raises `SourceError`."""
    folder.mkdir(exist_ok=True)
    try:
        write_out(Tar(stream), folder, BOUNDS, places=(ANYWHERE,), where=wanted, git=True)
        with Beneath(folder) as beneath:
            if (folder / ".git").is_dir():
                beneath.folder((b".git", b"refs"))
                beneath.file((b".git", b"config"), iter([GIT_CONFIG]), executable=False, mtime_ns=0)
    except BadStream as error:
        raise SourceError(f"the source in the image cannot be used: {error.message}", HINT) from error


def wanted(header: Header) -> bytes | None:
    """The path of an archive member below its top folder; of git only the parts that are data. None to leave it out."""
    names = header.names[1:]
    if b".git" in (name.lower() for name in names):
        part = names[1:2]
        if names[0] != b".git" or not part or part[0] not in GIT_PARTS or header.kind == LINK:
            return None
        if names[1:3] == (b"objects", b"info"):  # these files name other repositories
            return None
    return b"/".join(names) or None


def keep_the_rest(source: Path, tree: Path, tracked: Mapping[str, str]) -> list[str]:
    """Move the untracked files of an unpacked source into the tree; returns their paths."""
    kept = []
    new = NewFiles(tracked)
    with Beneath(tree) as beneath:
        for here, names, files in os.walk(source):
            names[:] = [name for name in names if name not in LEFT_OUT]
            for name in files:
                path = Path(here, name)
                relative = str(path.relative_to(source))
                if path.is_symlink() or relative not in new:
                    continue
                beneath.take(path, tuple(os.fsencode(relative).split(b"/")))
                kept.append(relative)
    return sorted(kept)
