"""Reads a folder or a git repository mounted into this sandbox, as one commit in a store of ours. Runs inside only.

Of an untrusted repository git reads only the objects: configuration, hooks, grafts and replaced objects are not used,
and `HEAD`, the refs and the list of shallow commits are copied into a repository of ours. Only the mounted folders
exist here, so a repository that borrows objects from another one on the machine cannot be read; the error names the
other one.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.find_repository import OWN, small
from selfplay.repository.fetching.gitdir import SETTINGS, GitDir

CACHES = {"__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", "node_modules"}
MAX_DEPTH = 100
MAX_ENTRIES = 250_000
MAX_TREE_BYTES = 1 << 30
MAX_OBJECTS = 4_000_000
MAX_REFS = 100_000
MAX_REF_FILE = 64 << 20
BORROWING = 5
"""How many repositories git follows when each borrows from the next."""
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
    _refuse_links(common)
    if (config := small(common / "config", 1 << 20)) and SHA256.search(config):
        raise SourceError(
            "its objects have SHA-256 names", "Only repositories with SHA-1 names can be read: convert it."
        )
    borrowed = _borrowed(objects, places)
    ours = GitDir.create(store)
    with (store / "config").open("a") as written:  # git drops its environment when it serves a fetch
        for key, value in {**SETTINGS, "uploadpack.allowAnySHA1InWant": "true"}.items():
            section, _, name = key.rpartition(".")
            written.write(f"[{subsection(section)}]\n\t{name} = {value}\n")
    (store / "objects" / "info").mkdir(exist_ok=True)
    (store / "objects" / "info" / "alternates").write_bytes(b"".join(os.fsencode(path) + b"\n" for path in borrowed))
    _copy_refs(git, common, store)
    return ours


def subsection(section: str) -> str:
    """A section's name as configuration files write it."""
    first, _, second = section.partition(".")
    return f'{first} "{second}"' if second else first


def _common(git: Path, places: Mapping[str, str]) -> Path:
    """The folder with objects and refs; for a worktree, the main repository's."""
    if not os.path.lexists(git / "commondir"):
        return git
    text = os.fsdecode(small(git / "commondir") or b"").strip()
    common = moved(on_host(git, places) / text, places)
    if not text or common is None or common.resolve() != common or not (common / "objects").is_dir():
        raise SourceError(f"its git folder takes everything from another repository: {text[:200]!r}", OWN)
    return common


def _refuse_links(common: Path) -> None:
    for name in ("objects", "refs", "packed-refs", "shallow"):
        path = common / name
        if path.is_symlink():
            raise SourceError(f"its git folder's {name} is a link to {str(path.readlink())[:200]!r}", OWN)


def _borrowed(objects: Path, places: Mapping[str, str]) -> list[Path]:
    """The folder itself, and the folders it borrows objects from, if they are mounted here."""
    found: list[Path] = []
    waiting = [objects]
    while waiting and len(found) <= BORROWING:
        folder = waiting.pop()
        _refuse_special(folder)
        found.append(folder)
        alternates = folder / "info" / "alternates"
        if not os.path.lexists(alternates):
            continue
        for line in os.fsdecode(small(alternates) or b"(what cannot be read)").splitlines():
            if not line or line.startswith("#"):
                continue
            place = moved(on_host(folder, places) / line, places)
            if place is None or place.resolve() != place or not place.is_dir():
                raise SourceError(f"it borrows the objects of another repository: {line[:200]!r}", WHOLE)
            waiting += [place] if place not in found else []
    return found


def _refuse_special(objects: Path) -> None:
    """Refuse special files among the objects: git would open a pipe and wait for ever."""
    for folder, name, mode in walk(objects, most=MAX_OBJECTS):
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise SourceError(f"{(folder / name).relative_to(objects)} among its objects is not a regular file", OWN)


def _copy_refs(git: Path, common: Path, store: Path) -> None:
    head = os.fsencode(f"ref: {(git / 'HEAD').readlink()}\n") if (git / "HEAD").is_symlink() else small(git / "HEAD")
    if head is None:
        raise SourceError("its git folder has no readable HEAD", OWN)
    (store / "HEAD").write_bytes(head)
    for name in ("packed-refs", "shallow"):
        if (data := small(common / name, MAX_REF_FILE)) is not None:
            (store / name).write_bytes(data)
    for number, (folder, name, mode) in enumerate(walk(common / "refs")):
        if number > MAX_REFS:
            raise SourceError(f"it has more than {MAX_REFS:,} refs", OWN)
        goal = store / "refs" / folder.relative_to(common / "refs") / name
        if stat.S_ISDIR(mode):
            goal.mkdir(exist_ok=True)
        elif stat.S_ISREG(mode) and (data := small(folder / name)) is not None:
            goal.write_bytes(data)


def copy_plain(source: Path, target: Path, *, everything: bool) -> list[str]:
    """Copy files and links (links unchanged); returns the paths that could not be copied. Without `everything` caches
    are left out; `.git` always is. Raises `SourceError` for a tree too deep or too large, `OSError` when the disk is
    full."""
    left_out: list[str] = []
    total = 0
    target.mkdir()
    for folder, name, mode in walk(source, skipped=frozenset({".git"} if everything else CACHES | {".git"})):
        inner = (folder / name).relative_to(source)
        if name.lower() == ".git":  # a file of that name marks a submodule
            continue
        total += (folder / name).lstat().st_size if stat.S_ISREG(mode) else 0
        if total > MAX_TREE_BYTES:
            raise too_large(total)
        if stat.S_ISDIR(mode):
            (target / inner).mkdir()
        elif stat.S_ISLNK(mode):
            (target / inner).symlink_to(os.readlink(folder / name))  # noqa: PTH115 - pathlib would tidy the target
        elif not stat.S_ISREG(mode) or not _copied(folder / name, target / inner, mode):
            left_out.append(inner.as_posix())
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
