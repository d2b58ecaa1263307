"""The only way for files to leave a sandbox: frames, written inside by `inside/pack.py`, read here with limits.

Anything may run inside and write anything, so every byte is checked: the result is a tree inside its folder, or a
`BadStream`. Only regular files, folders and links come out, with our modes. Each file counts with its full size, so
sparse or hard-linked files gain nothing. A link is kept if it cannot lead out of the folder, or leads to a place that
every sandbox has itself; nothing is written or read through a link.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from selfplay.repository import inside
from selfplay.repository.errors import BadStream, TooLarge
from selfplay.repository.files.confined_write import PAGE, Beneath, Names, shown
from selfplay.repository.files.entries import Entries, Frames, Header
from selfplay.repository.inside.pack import END, FILE, FOLDER, LINK
from selfplay.sandbox import MIB, Sandbox

LONGEST_NAME = 255
LONGEST_TARGET = 4096
PACK_SECONDS = 900.0
ANYWHERE = ""
"""Allowed places for links: any absolute path. For trees in which nothing outside a sandbox follows links."""


@dataclass(frozen=True)
class StreamBounds:
    """Limits of what comes out. `bytes`: full file sizes in whole pages; `entries`: frames and created folders;
    `depth`: names of one path; `path_bytes`: the length of one path, without its folder on the host."""

    bytes: int
    entries: int
    depth: int = 100
    path_bytes: int = 2048

    def less(self, result: "Unpacked") -> "StreamBounds":
        """What is left of these limits after that result."""
        return replace(self, bytes=self.bytes - result.bytes, entries=self.entries - result.entries)


@dataclass
class Unpacked:
    """What came out. `dropped`: some of the links that would lead out; `left_out`: their number."""

    files: int = 0
    bytes: int = 0
    entries: int = 0
    left_out: int = 0
    dropped: tuple[str, ...] = ()


Where = Callable[[Header], bytes | None]
"""Maps an entry to its path below the folder; None leaves it out."""


@dataclass(frozen=True)
class Inside:
    """The folder `folder` in a sandbox, or only the files that `listing` names, a file inside with null-terminated
    paths. `python`: an interpreter inside."""

    sandbox: Sandbox
    folder: str
    python: str
    listing: str | None = None


def bring_out(
    source: Inside,
    target: Path,
    bounds: StreamBounds,
    *,
    places: tuple[str, ...] = (),
    owner: tuple[int, int] | None = None,
    where: Where | None = None,
    git: bool = False,
) -> Unpacked:
    """Copy what is inside into `target`, an existing folder.

    The others are as for `unpack`. Raises `BadStream`, `InsideError` when the folder cannot be read, and `SandboxError`
    when the sandbox is gone.
    """
    named = [source.folder, source.listing] if source.listing else [source.folder]
    command = [source.python, "-I", "-S", "-B", "-c", inside.text("pack.py"), *named]
    with source.sandbox.stream(command, timeout=PACK_SECONDS) as stream:
        return unpack(stream, target, bounds, places=places, owner=owner, where=where, git=git)


def unpack(
    stream: IO[bytes],
    target: Path,
    bounds: StreamBounds,
    *,
    places: tuple[str, ...] = (),
    owner: tuple[int, int] | None = None,
    where: Where | None = None,
    git: bool = False,
) -> Unpacked:
    """Write the entries of a stream until its end into `target`, an existing folder of ours that becomes readable for
    all.

    `places`: absolute folders to which links may lead; `owner`: (uid, gid) of everything written; `where`: see `Where`;
    `git`: whether git's own folders may be among them. Else they are refused, and so is a folder that is one: git runs
    programs that theirs names, when somebody only looks around in what was written.
    Raises `BadStream`, whose subclass `TooLarge` says which limit was exceeded; the caller must remove what was
    written.
    """
    frames = Frames(stream, bounds.path_bytes)
    return write_out(frames, target, bounds, places=places, owner=owner, where=where, git=git)


def write_out(
    entries: Entries,
    target: Path,
    bounds: StreamBounds,
    *,
    places: tuple[str, ...] = (),
    owner: tuple[int, int] | None = None,
    where: Where | None = None,
    git: bool = False,
) -> Unpacked:
    """Like `unpack`, for entries of any form."""
    with Beneath(target, owner) as beneath:
        try:
            beneath.adopt()
            return _StreamUnpacking(entries, beneath, bounds, places, where, git).run()
        except OSError as error:  # our own disk's, such as a full disk
            raise OSError(error.errno, error.strerror, os.fspath(target)) from error


class _StreamUnpacking:
    def __init__(
        self, entries: Entries, beneath: Beneath, bounds: StreamBounds, places: tuple[str, ...], where: Where | None,
        git: bool,
    ) -> None:  # fmt: skip
        self.entries, self.beneath, self.bounds, self.where, self.git = entries, beneath, bounds, where, git
        self.places = tuple(os.fsencode(place) for place in places)
        self.result = Unpacked()
        self.roots = set[bytes]()

    def run(self) -> Unpacked:
        while (header := self.entries.header()).kind != END:
            checked_names(header.path, self.bounds)
            self.admit(header)
            goal = header.path if self.where is None else self.where(header)
            if header.kind == LINK:
                self.link(header, goal)
            elif header.kind == FILE:
                self.file(header, goal)
            elif goal is not None:
                self.folder(goal)
        self.entries.close()
        if not self.git and is_git_folder(self.roots):
            raise BadStream("its own folder is one of git's (HEAD, objects, refs)")
        self.result.entries += self.beneath.made
        return self.result

    def admit(self, header: Header) -> None:
        """Count an entry before its content is read or written."""
        result, bounds = self.result, self.bounds
        if (header.kind == FOLDER and header.size) or (header.kind == LINK and not 0 < header.size <= LONGEST_TARGET):
            raise BadStream(f"{shown(header.path)} has a content of {header.size} bytes")
        result.entries += 1
        if result.entries + self.beneath.made > bounds.entries:
            raise TooLarge(f"more than {bounds.entries} files and folders")
        result.bytes += -(-header.size // PAGE) * PAGE
        if result.bytes > bounds.bytes:
            raise TooLarge(f"more than {bounds.bytes // MIB} MiB", f"{shown(header.path)} is one file too many")

    def names(self, goal: bytes) -> tuple[bytes, ...]:
        names = checked_names(goal, self.bounds)
        if not self.git and any(name.lower() == b".git" for name in names):
            raise BadStream(f"{shown(goal)} is git's own")
        self.roots.update(names[:1])
        return names

    def folder(self, goal: bytes) -> None:
        made = self.beneath.made
        self.beneath.folder(self.names(goal))
        self.result.entries -= self.beneath.made > made  # it is counted there

    def file(self, header: Header, goal: bytes | None) -> None:
        content = self.entries.content(header.size)
        if goal is None:
            self.result.left_out += 1
            for _ in content:
                pass
            return
        names = self.names(goal)
        self.beneath.file(names, content, executable=header.executable, mtime_ns=header.mtime_ns)
        self.result.files += 1

    def link(self, header: Header, goal: bytes | None) -> None:
        target = self.entries.target(header)
        if goal is None:
            self.result.left_out += 1
            return
        names = self.names(goal)
        if stays_inside(names, target) or leads_to(target, self.places):
            self.beneath.link(names, target)
            return
        self.result.left_out += 1
        if len(self.result.dropped) < 3:
            self.result.dropped += (shown(header.path),)


def is_git_folder(names: set[bytes]) -> bool:
    """Whether git takes a folder that holds these names for a repository, and follows its settings."""
    return b"HEAD" in names and ({b"objects", b"refs"} <= names or b"commondir" in names)


def checked_names(path: bytes, bounds: StreamBounds) -> Names:
    """The names of a relative path. Raises `BadStream` for any other path, or a name that no file can have."""
    if len(path) > bounds.path_bytes:
        raise TooLarge(f"a path of {len(path)} bytes", f"{bounds.path_bytes} are the most")
    names = tuple(path.split(b"/"))
    if len(names) > bounds.depth:
        raise TooLarge(f"folders {len(names)} deep", f"{bounds.depth} are the most")
    if b"\0" in path or any(name in (b"", b".", b"..") or len(name) > LONGEST_NAME for name in names):
        raise BadStream(f"{shown(path)} is not a path inside a folder")
    return names


def stays_inside(names: Names, target: bytes) -> bool:
    """Whether a relative link cannot lead out of its folder, whatever other such links exist: it goes up only at its
    start, where the folders above are known, and not above the root."""
    parts = target.split(b"/")
    climbing = 0
    while climbing < len(parts) and parts[climbing] == b"..":
        climbing += 1
    return (
        not target.startswith(b"/") and b"\0" not in target and b".." not in parts[climbing:] and climbing < len(names)
    )


def leads_to(target: bytes, places: tuple[bytes, ...]) -> bool:
    """Whether an absolute link leads into one of the places."""
    plain = target.startswith(b"/") and b"\0" not in target and b".." not in target.split(b"/")
    return plain and any(target == place or target.startswith(place + b"/") for place in places)
