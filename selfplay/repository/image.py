"""A source inside a container image, with its dependencies installed, as the paper assumes: found and copied out, not
built.

What the image's git tracks becomes the tree and its history; other files there (built extensions, an egg-info) are kept
in addition. The image is not trusted: its git directory is read without its settings and hooks, and our code writes its
files, inside one folder.
"""

import os
import posixpath
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

from selfplay.repository.errors import SourceError
from selfplay.sandbox import Backend

MAX_BYTES = 4 << 30
GIT_PARTS = ("HEAD", "packed-refs", "shallow", "objects", "refs")
GIT_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
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
        """Folders of the image that may hold a source, most likely first."""
        ...

    def copy_out(self, place: str) -> IO[bytes] | None:
        """A folder of the image as a tar archive; None when the image has no such folder."""
        ...

    def hide(self, place: str) -> None:
        """From now on `place` is a link to `/testbed` in every sandbox, so the image's own copy is never visible."""
        ...


def take_source(backend: Backend, path: str | None, folder: Path) -> str:
    """Copy the source in the backend's image into `folder`; returns its place in the image. Raises `SourceError`."""
    if not isinstance(backend, HoldsImage) or not backend.image_id:
        raise SourceError("the source is in an image, and none was given", "Add --sandbox docker --image NAME.")
    for place in (path,) if path else backend.source_places():
        with_it = backend.copy_out(place)
        if with_it is None:
            continue
        with with_it as stream:
            unpack(stream, folder)
        if path or any((folder / mark).exists() for mark in MARKS):
            backend.hide(place)
            return place
    raise SourceError(f"the image holds no source at {path or 'any usual place'}", HINT)


def unpack(stream: IO[bytes], folder: Path) -> None:
    """Write the archive's single top folder, with its files, folders and links, as `folder`."""
    folder.mkdir(exist_ok=True)
    written = 0
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            name = posixpath.normpath(member.name).partition("/")[2]
            path = folder / name
            if not name or not wanted(name, folder, path):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.isdir():
                path.mkdir(exist_ok=True)
            elif member.issym():
                path.symlink_to(member.linkname)
            elif member.isreg() and (content := tar.extractfile(member)) is not None:
                written += member.size
                if written > MAX_BYTES:
                    raise SourceError(f"the source in the image is larger than {MAX_BYTES} bytes", HINT)
                path.write_bytes(content.read())
                path.chmod(0o755 if member.mode & 0o100 else 0o644)
    if (folder / ".git").is_dir():
        (folder / ".git" / "config").write_text(GIT_CONFIG)
        (folder / ".git" / "refs").mkdir(exist_ok=True)


def wanted(name: str, folder: Path, path: Path) -> bool:
    """Whether an archive's member may be written: inside, not behind a link, and only the data parts of git."""
    parts = name.split("/")
    if ".." in parts or any(above.is_symlink() for above in path.parents if above.is_relative_to(folder)):
        return False
    if ".git" in (part.lower() for part in parts):
        return parts[0] == ".git" and parts[1:2] != [] and parts[1] in GIT_PARTS and "alternates" not in parts
    return not path.exists() and not path.is_symlink()


def keep_the_rest(source: Path, tree: Path, tracked: Mapping[str, str]) -> list[str]:
    """Move the image's untracked files into the tree; returns their paths."""
    kept = []
    for here, names, files in os.walk(source):
        names[:] = [name for name in names if name not in LEFT_OUT]
        for name in files:
            path = Path(here, name)
            goal = tree / path.relative_to(source)
            behind_link = any(above.is_symlink() for above in goal.parents if above.is_relative_to(tree))
            if str(path.relative_to(source)) in tracked or path.is_symlink() or goal.exists() or behind_link:
                continue
            goal.parent.mkdir(parents=True, exist_ok=True)
            path.replace(goal)
            kept.append(str(path.relative_to(source)))
    return sorted(kept)
