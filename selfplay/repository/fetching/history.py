"""From a fetched commit to the commit that sandboxes see, without submodules and escaping links. Inside only.

Submodules become plain folders (or a note if they are not available), and links that leave the tree are removed. If
that changes anything, a commit of ours is added on top, so that HEAD is exactly the tree.
"""

import os
import posixpath
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from selfplay.formatting import count
from selfplay.plain_text import MAX_PATH
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.checkouts import Checkout
from selfplay.repository.fetching.find_repository import small
from selfplay.repository.fetching.gitdir import GitDir, GitError, TreeEntry
from selfplay.repository.fetching.local import adopt, moved, on_host
from selfplay.repository.fetching.reading import WORK, ReadOrder, Submodule
from selfplay.repository.fetching.trees import measured

SUBMODULE, LINK = "160000", "120000"
MAX_NESTING = 3
MAX_SUBMODULES = 200
MAX_LINKS = 40
MAX_STEPS = 4096


@dataclass(frozen=True)
class Tidied:
    """`commit`: the new HEAD; `tree_hash`: its tree; `tracked`: path -> blob id; `notes`: lines for the user."""

    commit: str
    tree_hash: str
    tracked: dict[str, str]
    notes: tuple[str, ...]


class Wanted(Exception):
    """Submodules that only the host can fetch."""

    def __init__(self, submodules: tuple[Submodule, ...]) -> None:
        super().__init__(count(len(submodules), "submodule"))
        self.submodules = submodules


def tidy(checkout: Checkout, order: ReadOrder) -> Tidied:
    """Add submodules, and remove escaping links; the store gets a new commit if something changed. Raises `Wanted`, and
    `SourceError` for a tree that cannot be written to a disk."""
    store, commit = checkout.store, checkout.commit
    index = store.path / "tidy-index"
    measured(store, store.tree_of(commit))
    store.run("read-tree", commit, index=index)
    notes = _submodules(checkout, index, order)
    tree = store.line("write-tree", index=index)
    dropped = escaping_links(store, tree)
    if dropped:
        _drop(store, index, dropped)
        tree = store.line("write-tree", index=index)
        links = count(len(dropped), "link that leaves the tree was", "links that leave the tree were")
        notes += (f"{links} dropped: {', '.join(dropped[:3])}",)
    index.unlink()
    if tree != store.tree_of(commit):
        commit = store.commit_tree(tree, "The tree without links that leave it, submodules as folders\n", [commit])
    entries = measured(store, tree)
    return Tidied(commit, tree, {entry.path: entry.oid for entry in entries}, notes + _pointers(store, entries))


def _drop(store: GitDir, index: Path, paths: Iterable[str]) -> None:
    store.run("update-index", "-z", "--index-info", index=index, stdin=b"".join(
        b"0 " + b"0" * 40 + b"\t" + os.fsencode(path) + b"\0" for path in paths
    ))  # fmt: skip


def _submodules(checkout: Checkout, index: Path, order: ReadOrder) -> tuple[str, ...]:
    """Replace each submodule entry of the index by its files, including nested submodules."""
    store, notes = checkout.store, []
    for _ in range(MAX_NESTING):
        tree = store.line("write-tree", index=index)
        links = [entry for entry in measured(store, tree) if entry.mode == SUBMODULE]
        if not links:
            break
        urls = _urls(store, tree)
        wanted: dict[Submodule, None] = {}
        for number, entry in enumerate(links):
            brought = (
                _bring(checkout, entry, urls, order) if number < MAX_SUBMODULES else f"it has {len(links)} of them"
            )
            if isinstance(brought, Submodule):
                wanted[brought] = None
                continue
            _drop(store, index, [entry.path])
            if brought is None:
                measured(store, entry.oid)
                _graft(store, index, entry)
            else:
                notes.append(f"the submodule {entry.path} is missing: {brought}")
        if wanted:
            raise Wanted(tuple(wanted))
    return tuple(notes)


def _graft(store: GitDir, index: Path, submodule: TreeEntry) -> None:
    """Add the files of a submodule's commit below its path."""
    records = b"".join(
        f"{entry.mode} {entry.oid}\t".encode() + os.fsencode(f"{submodule.path}/{entry.path}") + b"\0"
        for entry in measured(store, submodule.oid)
    )
    store.run("update-index", "-z", "--index-info", index=index, stdin=records)


def _urls(store: GitDir, tree: str) -> dict[str, str]:
    """Submodule path -> URL, read from `.gitmodules` as data; empty if the file is missing or malformed."""
    try:
        listing = store.run("config", "--blob", f"{tree}:.gitmodules", "--no-includes", "--null", "--list")
    except GitError:
        return {}
    sections: dict[str, dict[str, str]] = {}
    for record in os.fsdecode(listing).split("\0"):
        key, _, value = record.partition("\n")
        name, _, variable = key.rpartition(".")
        if name.startswith("submodule."):
            sections.setdefault(name, {})[variable] = value
    return {table["path"]: table["url"] for table in sections.values() if table.get("path") and table.get("url")}


def _bring(checkout: Checkout, entry: TreeEntry, urls: dict[str, str], order: ReadOrder) -> Submodule | str | None:
    """Bring a submodule's commit into our store. Returns None if it is there, or what the host must fetch, or why it is
    not available.

    A local checkout's own copy is tried first. A URL in `.gitmodules` is untrusted: the host decides about it
    (`submodules`).
    """
    if checkout.store.resolve(entry.oid) is not None:
        return None
    if checkout.local is not None and _own_copy(checkout, entry, order):
        return None
    url = urls.get(entry.path)
    if not url:
        return "no URL is given for it"
    if order.url and url.startswith(("./", "../")):
        url = beside(order.url, url)
    wanted = Submodule(url, entry.oid)
    return f"{url} {order.failed[wanted.key]}" if wanted.key in order.failed else wanted


def beside(base: str, url: str) -> str:
    """A relative submodule URL, as git reads it: `../` removes the last part of the base."""
    base = base.rstrip("/")
    while url.startswith(("./", "../")):
        step, _, url = url.partition("/")
        base = base.rpartition("/")[0] if step == ".." else base
    return f"{base}/{url}"


def _own_copy(checkout: Checkout, entry: TreeEntry, order: ReadOrder) -> bool:
    """Fetch the submodule from its place in the local checkout; returns whether that worked."""
    assert checkout.local is not None
    folder = checkout.local / entry.path
    git: Path | None = folder / ".git"
    if folder.resolve() != folder or not os.path.lexists(folder / ".git"):
        return False
    if (pointer := small(folder / ".git")) is not None:
        named = os.fsdecode(pointer).removeprefix("gitdir:").strip()
        git = moved(on_host(folder, order.moved) / named, order.moved)
    if git is None or git.resolve() != git or not _is_own(git, folder, checkout.local, order):
        return False
    try:
        number = len(list(Path(WORK).glob("submodule-*")))
        source = adopt(git, Path(WORK, f"submodule-{number}"), order.moved)
        checkout.store.run("fetch", "--quiet", "--no-tags", "--depth=1", "--end-of-options", source.path.as_uri(),
                           entry.oid, settings={"protocol.file.allow": "always"})  # fmt: skip
    except (GitError, SourceError):
        return False
    return True


def _is_own(git: Path, folder: Path, local: Path, order: ReadOrder) -> bool:
    """Whether the git folder that a submodule's checkout at `folder` uses is its own: it lies in the checkout, or among
    the modules of a repository around it. Others may be mounted, too, where a folder with many was named."""
    around = [Path(order.git), *(one / ".git" for one in folder.parents if one.is_relative_to(local))]
    return git == folder / ".git" or any(git.is_relative_to(one / "modules") for one in around)


def escaping_links(store: GitDir, tree: str) -> list[str]:
    """Links whose target, followed through other links of the tree, is absolute or outside the tree."""
    links = [entry for entry in measured(store, tree) if entry.mode == LINK]
    contents = _blobs(store, [entry.oid for entry in links])
    targets = {entry.path: os.fsdecode(content) for entry, content in zip(links, contents, strict=True)}
    return [path for path, target in targets.items() if climbs(target) or leaves(path, targets)]


def _blobs(store: GitDir, oids: list[str]) -> list[bytes]:
    """The contents of blobs."""
    found: list[bytes] = []
    data, at = store.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode()), 0
    for _ in oids:
        end = data.index(b"\n", at)
        size = int(data[at:end].split(b" ")[2])
        found.append(data[end + 1 : end + 1 + size])
        at = end + size + 2
    return found


def climbs(target: str) -> bool:
    """Whether a link goes up after going down: its target then depends on other links."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    down = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return ".." in parts[down:]


def leaves(path: str, targets: Mapping[str, str]) -> bool:
    """Whether resolving `path` part by part leaves the tree, or takes too long to decide. `targets`: link -> its
    target. Chains of more than `MAX_LINKS` links stay: Linux does not follow them, so they lead nowhere."""
    pending, here, followed = deque(path.split("/")), "", 0
    for _ in range(MAX_STEPS):
        if not pending:
            return False
        part = pending.popleft()
        if part == "..":
            if not here:
                return True
            here = posixpath.dirname(here)
        elif part not in ("", "."):
            here = posixpath.join(here, part)
        if here in targets and part not in ("", ".", ".."):
            target, followed = targets[here], followed + 1
            if followed > MAX_LINKS:
                return False
            if target.startswith("/") or len(target) > MAX_PATH:
                return True
            pending.extendleft(reversed(target.split("/")))
            here = posixpath.dirname(here)
    return True


def _pointers(store: GitDir, entries: Iterable[TreeEntry]) -> tuple[str, ...]:
    """A note if Git LFS keeps files elsewhere: tests then see only pointers."""
    try:
        attributes = next(entry.oid for entry in entries if entry.path == ".gitattributes")
    except StopIteration:
        return ()
    uses = b"filter=lfs" in store.run("cat-file", "blob", attributes)
    return ("files kept by Git LFS are present as pointers only",) if uses else ()
