"""Reads a folder or a git repository mounted into this sandbox, as one commit in a store of ours. Runs inside only.

Of an untrusted repository git reads only the objects: configuration, hooks, grafts and replaced objects are not used,
and `HEAD`, the refs and the list of shallow commits are copied into a repository of ours. A git folder is read by
itself: one that borrows objects, or takes its refs from elsewhere, cannot be read, and the error names the other
place. That it is mounted here proves nothing, since the user may have named a folder with many repositories.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.find_repository import MAX_NAMED, OWN, refuse_links, small
from selfplay.repository.fetching.gitdir import SETTINGS, GitDir
from selfplay.repository.fetching.hard_links import SeenNames, outside
from selfplay.repository.fetching.reading import COMMON

CACHES = {"__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", "node_modules"}
MAX_DEPTH = 100
MAX_ENTRIES = 250_000
MAX_TREE_BYTES = 1 << 30
MAX_OBJECTS = 4_000_000
MAX_REFS = 100_000
MAX_REF_FILE = 64 << 20
SHA256 = re.compile(rb"^[^\S\n]*objectformat[^\S\n]*=[^\S\n]*\"?sha256", re.MULTILINE | re.IGNORECASE)
WHOLE = "Make it whole: `git repack -a -d` in it, then remove its objects/info/alternates. Or name a clone of it."


def walk(
    root: Path, *, skipped: frozenset[str] = frozenset(), most: int = MAX_ENTRIES
) -> Iterator[tuple[Path, str, int]]:
    """(folder, name, mode) of everything below `root`, not following links out of it; folders whose lower-case names
    are `skipped` are not entered. Raises `SourceError` for a tree that is too deep or has more than `most` entries.
    Unreadable folders are left out."""
    waiting, seen = [(root, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise too_deep(folder.relative_to(root).as_posix())
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        seen += len(entries)
        if seen > most:
            raise too_many(most)
        for entry in entries:
            if entry.name.lower() in skipped and entry.is_dir():
                continue
            yield folder, entry.name, entry.stat(follow_symlinks=False).st_mode
            if entry.is_dir(follow_symlinks=False):
                waiting.append((folder / entry.name, depth + 1))


def too_deep(path: str) -> SourceError:
    shown = "/".join(path.split("/")[:3])
    return SourceError(f"{shown}/... lies more than {MAX_DEPTH} folders deep", "Name a part of it.")


def too_large(size: int) -> SourceError:
    return SourceError(f"its files take {size:,} bytes, more than {MAX_TREE_BYTES:,}", "Name a part of it.")


def too_many(most: int = MAX_ENTRIES) -> SourceError:
    return SourceError(f"it holds more than {most:,} files", "Name a part of it, or a smaller project.")


def moved(path: Path, places: Mapping[str, str]) -> Path | None:
    """The path in this sandbox of a host folder; None if it is not mounted. Paths inside are returned unchanged."""
    plain = Path(os.path.normpath(path))
    for host, inside in {**places, **{inside: inside for inside in places.values()}}.items():
        if plain.is_relative_to(host):
            return Path(inside) / plain.relative_to(host)
    return None


def on_host(path: Path, places: Mapping[str, str]) -> Path:
    """The host's name of a folder in this sandbox."""
    for host, inside in places.items():
        if path.is_relative_to(inside):
            return Path(host) / path.relative_to(inside)
    return path


def adopt(git: Path, store: Path, places: Mapping[str, str]) -> GitDir:
    """A repository of ours at `store` with the refs of the one at `git`, whose objects it borrows. Raises
    `SourceError`, which names what refers to another repository, or what git could not read."""
    common = _common(git, places)
    objects = common / "objects"
    refuse_links(common)
    if (config := small(common / "config", 1 << 20)) and SHA256.search(config):
        raise SourceError(
            "its objects have SHA-256 names", "Only repositories with SHA-1 names can be read: convert it."
        )
    _refuse_special(objects)
    _refuse_borrowing(objects)
    ours = GitDir.create(store)
    with (store / "config").open("a") as written:  # git drops its environment when it serves a fetch
        for key, value in {**SETTINGS, "uploadpack.allowAnySHA1InWant": "true"}.items():
            section, _, name = key.rpartition(".")
            written.write(f"[{subsection(section)}]\n\t{name} = {value}\n")
    (store / "objects" / "info").mkdir(exist_ok=True)
    (store / "objects" / "info" / "alternates").write_bytes(os.fsencode(objects) + b"\n")
    _copy_refs(git, common, store)
    return ours


def subsection(section: str) -> str:
    """A section's name as configuration files write it."""
    first, _, second = section.partition(".")
    return f'{first} "{second}"' if second else first


def _common(git: Path, places: Mapping[str, str]) -> Path:
    """The folder with objects and refs. Only for a worktree it is another one than `git`: its repository's, which the
    host has found and mounted at `COMMON`."""
    if not os.path.lexists(git / "commondir"):
        return git
    text = os.fsdecode(small(git / "commondir") or b"").strip()
    common = moved(on_host(git, places) / text, {host: place for host, place in places.items() if place == COMMON})
    of_worktree = git.parent == Path(COMMON, "worktrees")
    if not text or not of_worktree or common != Path(COMMON) or not (common / "objects").is_dir():
        raise SourceError(f"its git folder takes everything from another repository: {text[:200]!r}", OWN)
    return common


def _refuse_borrowing(objects: Path) -> None:
    """Refuse a folder that borrows objects: nothing in it proves that the other repository lends them."""
    alternates = objects / "info" / "alternates"
    if not os.path.lexists(alternates):
        return
    for line in os.fsdecode(small(alternates) or b"(what cannot be read)").splitlines():
        if line and not line.startswith("#"):
            raise SourceError(f"it borrows the objects of another repository: {line[:200]!r}", WHOLE)


def _refuse_special(objects: Path) -> None:
    """Refuse special files among the objects: git would open a pipe and wait for ever."""
    for folder, name, mode in walk(objects, most=MAX_OBJECTS):
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise SourceError(f"{(folder / name).relative_to(objects)} among its objects is not a regular file", OWN)


def _copy_refs(git: Path, common: Path, store: Path) -> None:
    linked = (git / "HEAD").is_symlink()
    head = os.fsencode(f"ref: {(git / 'HEAD').readlink()}\n") if linked else _ref_file(git / "HEAD", git)
    if head is None:
        raise SourceError("its git folder has no readable HEAD", OWN)
    (store / "HEAD").write_bytes(head)
    for name in ("packed-refs", "shallow"):
        if (data := _ref_file(common / name, common, MAX_REF_FILE)) is not None:
            (store / name).write_bytes(data)
    for number, (folder, name, mode) in enumerate(walk(common / "refs")):
        if number > MAX_REFS:
            raise SourceError(f"it has more than {MAX_REFS:,} refs", OWN)
        goal = store / "refs" / folder.relative_to(common / "refs") / name
        if stat.S_ISDIR(mode):
            goal.mkdir(exist_ok=True)
        elif stat.S_ISREG(mode) and (data := _ref_file(folder / name, common)) is not None:
            goal.write_bytes(data)


def _ref_file(path: Path, git: Path, most: int = MAX_NAMED) -> bytes | None:
    """What `small` returns. Git never links such a file, so one with a second name may be another repository's."""
    if os.path.lexists(path) and not path.is_symlink() and path.lstat().st_nlink > 1:
        raise outside(f".git/{path.relative_to(git)}")
    return small(path, most)


def copy_plain(source: Path, target: Path, *, everything: bool) -> list[str]:
    """Copy files and links (links unchanged); returns the paths that could not be copied. Without `everything` caches
    are left out; `.git` always is. Raises `SourceError` for a tree too deep or too large, and for a file with a name
    elsewhere, unless `everything` is copied, which is compared with a known tree; `OSError` when the disk is full."""
    left_out: list[str] = []
    total, names = 0, SeenNames()
    target.mkdir()
    for folder, name, mode in walk(source, skipped=frozenset({".git"} if everything else CACHES | {".git"})):
        inner = (folder / name).relative_to(source)
        if name.lower() == ".git":  # a file of that name marks a submodule
            continue
        status = (folder / name).lstat()
        names.add(inner.as_posix(), status)
        total += status.st_size if stat.S_ISREG(mode) else 0
        if total > MAX_TREE_BYTES:
            raise too_large(total)
        if stat.S_ISDIR(mode):
            (target / inner).mkdir()
        elif stat.S_ISLNK(mode):
            (target / inner).symlink_to(os.readlink(folder / name))  # noqa: PTH115 - pathlib would tidy the target
        elif not stat.S_ISREG(mode) or not _copied(folder / name, target / inner, mode):
            left_out.append(inner.as_posix())
    if not everything:
        names.refuse()
    return left_out


def _copied(source: Path, target: Path, mode: int) -> bool:
    """Copy one regular file; returns whether it could be read."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as stream, target.open("wb") as out:
        while block := stream.read(1 << 20):
            out.write(block)
    target.chmod(0o755 if mode & 0o100 else 0o644)
    return True
