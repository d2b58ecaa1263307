"""From a fetched commit to the two layers a sandbox sees: the tree, and a folder with only its `.git`.

The commit is tidied first: submodules become plain folders (or a note when they are not available) and links that leave
the tree are removed. If that changes anything, a commit of ours is added on top, so that HEAD is exactly the tree.
"""

import os
import posixpath
import shutil
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from selfplay.plain import MAX_PATH
from selfplay.repository.fetch import DEPTH, Checkout
from selfplay.repository.gitdir import EPOCH, Entry, GitDir, GitError, trusting

SUBMODULE, LINK = "160000", "120000"
MAX_NESTING = 3
MAX_SUBMODULES = 200
MAX_LINKS = 40
MAX_STEPS = 4096
CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\thooksPath = /dev/null
\ttrustctime = false
\tcheckStat = minimal
\tautocrlf = false
[gc]
\tauto = 0
[user]
\tname = selfplay
\temail = selfplay@localhost
"""


@dataclass(frozen=True)
class Tidied:
    """`commit`: the new HEAD; `tree_hash`: its tree; `tracked`: path -> blob id; `notes`: lines for the user."""

    commit: str
    tree_hash: str
    tracked: dict[str, str]
    notes: tuple[str, ...]


def tidy(checkout: Checkout) -> Tidied:
    """Add submodules, remove escaping links; the store gains a commit if something changed."""
    store, commit = checkout.store, checkout.commit
    index = store.path / "tidy-index"
    store.run("read-tree", commit, index=index)
    notes = _submodules(checkout, index)
    tree = store.line("write-tree", index=index)
    dropped = escaping_links(store, tree)
    if dropped:
        _drop(store, index, dropped)
        tree = store.line("write-tree", index=index)
        notes += (f"{len(dropped)} links that leave the tree were dropped: {', '.join(dropped[:3])}",)
    index.unlink()
    if tree != store.tree_of(commit):
        commit = store.commit_tree(tree, "The tree without links that leave it, submodules as folders\n", [commit])
    entries = list(store.entries(tree))
    return Tidied(commit, tree, {entry.path: entry.oid for entry in entries}, notes + _pointers(store, entries))


def _drop(store: GitDir, index: Path, paths: Iterable[str]) -> None:
    store.run("update-index", "-z", "--index-info", index=index, stdin=b"".join(
        b"0 " + b"0" * 40 + b"\t" + os.fsencode(path) + b"\0" for path in paths
    ))  # fmt: skip


def _submodules(checkout: Checkout, index: Path) -> tuple[str, ...]:
    """Replace each submodule entry of the index by the submodule's files, including nested submodules."""
    store, notes = checkout.store, []
    for _ in range(MAX_NESTING):
        tree = store.line("write-tree", index=index)
        links = [entry for entry in store.entries(tree) if entry.mode == SUBMODULE]
        if not links:
            break
        urls = _urls(store, tree)
        for number, entry in enumerate(links):
            reason = _bring(checkout, entry, urls) if number < MAX_SUBMODULES else f"it has {len(links)} of them"
            _drop(store, index, [entry.path])
            if reason is None:
                _graft(store, index, entry)
            else:
                notes.append(f"the submodule {entry.path} is missing: {reason}")
    return tuple(notes)


def _graft(store: GitDir, index: Path, submodule: Entry) -> None:
    """Add the files of a submodule's commit below its path."""
    records = b"".join(
        f"{entry.mode} {entry.oid}\t".encode() + os.fsencode(f"{submodule.path}/{entry.path}") + b"\0"
        for entry in store.entries(submodule.oid)
    )
    store.run("update-index", "-z", "--index-info", index=index, stdin=records)


def _urls(store: GitDir, tree: str) -> dict[str, str]:
    """Submodule path -> URL, from `.gitmodules` as data; empty for a file that is missing or malformed."""
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


def _bring(checkout: Checkout, entry: Entry, urls: dict[str, str]) -> str | None:
    """Fetch a submodule's commit into our store; returns the reason when that fails.

    A local checkout's own copy is tried first. A URL in `.gitmodules` is untrusted: it may name another repository of
    this machine only relative to a source that is itself local.
    """
    store = checkout.store
    candidates: list[tuple[str, bool]] = []
    if checkout.local is not None and (checkout.local / entry.path / ".git").exists():
        candidates.append(((checkout.local / entry.path).as_uri(), True))
    url = urls.get(entry.path)
    if url and url.startswith(("./", "../")) and checkout.url:
        joined = urljoin(checkout.url.rstrip("/") + "/", url)
        candidates.append((joined, checkout.url.startswith("file:")))
    elif url:
        candidates.append((url, False))
    for location, local in candidates:
        settings = {"protocol.file.allow": "always" if local else "never"}
        try:
            options = ["--quiet", "--no-tags", "--depth=1", *trusting(location), "--end-of-options"]
            store.run("fetch", *options, location, entry.oid, settings=settings, user_config=not local)
            return None
        except GitError:
            continue
    return f"{url} cannot be fetched" if url else "no URL is given for it"


def escaping_links(store: GitDir, tree: str) -> list[str]:
    """Links whose target, followed through other links of the tree, is absolute or outside the tree."""
    targets = {
        entry.path: os.fsdecode(store.run("cat-file", "blob", entry.oid))
        for entry in store.entries(tree) if entry.mode == LINK
    }  # fmt: skip
    return [path for path in targets if leaves(path, targets)]


def leaves(path: str, targets: Mapping[str, str]) -> bool:
    """Whether resolving `path` part by part leaves the tree, or takes too long to decide. `targets`: where each link
    leads. Chains of more than `MAX_LINKS` stay: Linux does not follow them, so they lead nowhere."""
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


def _pointers(store: GitDir, entries: list[Entry]) -> tuple[str, ...]:
    """A note when Git LFS keeps files elsewhere: the tests then see the pointers."""
    try:
        attributes = next(entry.oid for entry in entries if entry.path == ".gitattributes")
    except StopIteration:
        return ()
    uses = b"filter=lfs" in store.run("cat-file", "blob", attributes)
    return ("files kept by Git LFS are present as pointers only",) if uses else ()


def write_tree(store: GitDir, tree: str, folder: Path) -> None:
    """Check the tree out into a new `folder`, with the same date for every file so that byte-code stays valid."""
    folder.mkdir()
    store.checkout(tree, folder)
    for here, names, files in os.walk(folder):
        for name in (*names, *files):
            os.utime(Path(here, name), (EPOCH, EPOCH), follow_symlinks=False)


def write_history(store: GitDir, commit: str, tree: Path, generated: Iterable[str], folder: Path) -> None:
    """Fill `folder` with a `.git` whose HEAD is `commit`, at most `DEPTH` commits deep, clean over `tree`.

    Generated files are excluded from `git status`; the source's configuration and hooks are not included.
    """
    git = folder / ".git"
    target = GitDir.create(git)
    target.run("fetch", "--quiet", "--no-tags", f"--depth={DEPTH}", store.path.as_uri(), f"+{commit}:refs/heads/main",
               settings={"uploadpack.allowAnySHA1InWant": "true"}, env=_serve_any(store))  # fmt: skip
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    escaped = ("/" + _pattern(path) for path in sorted(generated))
    (git / "info" / "exclude").write_text("__pycache__/\n*.pyc\n.pytest_cache/\n" + "".join(f"{p}\n" for p in escaped),
                                          encoding="utf-8", errors="surrogateescape")  # fmt: skip
    target.run("read-tree", commit)
    (git / "config").write_text(CONFIG)
    target.run("update-index", "-q", "--refresh", work_tree=tree, strict=False)
    for name in ("FETCH_HEAD", "hooks", "branches"):
        path = git / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _serve_any(store: GitDir) -> dict[str, str]:
    """Let the serving side of this local fetch return a commit that no branch names."""
    store.run("config", "uploadpack.allowAnySHA1InWant", "true")
    return {}


def _pattern(path: str) -> str:
    return "".join(f"\\{character}" if character in "*?[]\\!# " else character for character in path)
