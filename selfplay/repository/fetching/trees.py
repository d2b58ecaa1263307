"""Checks a git tree before it is used: can a disk hold its files, under their names? Inside only."""

import os
from collections.abc import Iterator

from selfplay.plain_text import MAX_PATH
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.gitdir import GitDir, GitError, TreeEntry
from selfplay.repository.fetching.local import MAX_DEPTH, MAX_ENTRIES, MAX_TREE_BYTES, too_deep, too_large, too_many
from selfplay.repository.fetching.running import OutOfBounds, ProgramBounds

LISTING = ProgramBounds(seconds=15.0, output=64 << 20)
"""A tree of a few hundred bytes can name more files than fit on any disk, or as many folders without files."""


_KNOWN: dict[str, tuple[TreeEntry, ...]] = {}
"""Object name of a tree -> its entries; a run looks at the same few again and again."""


def measured(store: GitDir, tree: str) -> tuple[TreeEntry, ...]:
    """Every file, link and submodule of the tree or commit of this name, after checking that a disk can hold them under
    their names. Raises `SourceError`."""
    if tree not in _KNOWN:
        _KNOWN[tree] = _listed(store, tree)
    return _KNOWN[tree]


def _listed(store: GitDir, treeish: str) -> tuple[TreeEntry, ...]:
    try:
        listing = store.run("ls-tree", "-r", "-l", "-z", "--full-tree", treeish, bounds=LISTING)
    except GitError as error:
        if isinstance(error.__cause__, OutOfBounds) or error.status < 0:  # or git died because of it
            why = error.__cause__ or "git gives up"
            raise SourceError(f"its tree has too much to be listed: {why}", "Name a part of it.") from error
        raise
    if listing.count(b"\0") > MAX_ENTRIES:
        raise too_many()
    found, total = [], 0
    for record in listing.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, _, oid, size = head.decode().split()
            found.append(TreeEntry(mode, oid, os.fsdecode(path)))
            total += int(size) if size.isdecimal() else 0
    if total > MAX_TREE_BYTES:
        raise too_large(total)
    _check_names([entry.path for entry in found])
    return tuple(found)


def _check_names(paths: list[str]) -> None:
    """Raises `SourceError` for a name that no file can have, that two entries share, or that is both a file and a
    folder."""
    files, folders = set(paths), set()
    for path in paths:
        parts = path.split("/")
        if len(parts) > MAX_DEPTH:
            raise too_deep(path)
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
            raise SourceError(f"its tree has a file named {path[:200]!r}, which no checkout can write")
        if len(os.fsencode(path)) > MAX_PATH // 2 or any(len(os.fsencode(part)) > 255 for part in parts):
            raise SourceError(f"its tree has a name of {len(path)} characters: {path[:60]!r}...")
        folders |= {path[:at] for at in _slashes(path)}
    if len(files) < len(paths) or files & folders:
        twice = next(iter(files & folders), None) or next(path for path in files if paths.count(path) > 1)
        raise SourceError(f"its tree has two entries named {twice[:200]!r}")


def _slashes(path: str) -> Iterator[int]:
    at = path.rfind("/")
    while at >= 0:
        yield at
        at = path.rfind("/", 0, at)
