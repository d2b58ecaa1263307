"""Writes the two layers that a sandbox sees of a tidied commit: the tree, and a folder with only its `.git`. Inside
only."""

import hashlib
import os
import shutil
from pathlib import Path

from selfplay.repository.fetching.gitdir import EPOCH, GitDir

DEPTH = 200
"""Commits of history kept behind HEAD."""
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


def write_tree(store: GitDir, tree: str, folder: Path) -> None:
    """Check the tree out into a new `folder`, with one date for all files, so that byte-code stays valid."""
    folder.mkdir()
    store.checkout(tree, folder)
    for here, names, files in os.walk(folder):
        for name in (*names, *files):
            os.utime(Path(here, name), (EPOCH, EPOCH), follow_symlinks=False)


def past_of(store: GitDir, commit: str) -> str:
    """A digest of what `write_history` would copy: the newest commits, and those at which the store's history ends."""
    digest = hashlib.sha256(store.run("rev-list", f"--max-count={DEPTH}", commit))
    ends = store.path / "shallow"
    digest.update(b"\n".join(sorted(ends.read_bytes().split())) if ends.exists() else b"")
    return digest.hexdigest()[:16]


def write_history(store: GitDir, commit: str, tree: Path, folder: Path) -> None:
    """Fill `folder` with a `.git` whose HEAD is `commit`, at most `DEPTH` commits deep, with a clean status over
    `tree`.

    The source's configuration and hooks are not included. Generated files that `git status` must not show are not yet
    known: see `excluded`.
    """
    git = folder / ".git"
    folder.mkdir()
    target = GitDir.create(git)
    store.run("config", "uploadpack.allowAnySHA1InWant", "true")
    target.run("fetch", "--quiet", "--no-tags", f"--depth={DEPTH}", store.path.as_uri(), f"+{commit}:refs/heads/main",
               settings={"protocol.file.allow": "always"})  # fmt: skip
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    target.run("read-tree", commit)
    (git / "config").write_text(CONFIG)
    target.run("update-index", "-q", "--refresh", work_tree=tree, strict=False)
    for name in ("FETCH_HEAD", "hooks", "branches"):
        path = git / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
