"""Plain trees of files on the host: taken from a source at a commit, with diffs applied, or turned into a repository.

Everything that reads an untrusted tree runs in a sandbox; the host's git only records files of our own trees.
"""

import os
from pathlib import Path

from selfplay import subprocesses
from selfplay.errors import in_words
from selfplay.repository.cache import check_cache, default_cache
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.fetch import reading, reading_tree
from selfplay.repository.fetching.gitdir import AUTHOR, EPOCH, RAW_ATTRIBUTES, SETTINGS, UNASKED, settings_env
from selfplay.repository.fetching.source import GitSource, PathSource, parse_source
from selfplay.repository.files.unpack import Inside, StreamBounds, bring_out
from selfplay.sandbox import MIB, WORKDIR, Backend, Sandbox
from selfplay.sandbox.owners import scratch

LARGEST_TREE = StreamBounds(4096 * MIB, 500_000)
GIT_SECONDS = 300.0


def commit_here(tree: Path) -> None:
    """Turn the files of `tree` into a git repository with one commit. Raises `SourceError`."""
    name, mail = AUTHOR
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", name), ("EMAIL", mail), ("DATE", f"@{EPOCH} +0000"))}  # fmt: skip
    own = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    env = {**own, "GIT_CONFIG_GLOBAL": "/dev/null", **UNASKED, **settings_env(SETTINGS), **who}
    steps = (["init", "-q", "--template="], ["add", "-A", "-f"], ["commit", "-q", "--allow-empty", "-m", "The tree"])
    for step in steps:
        try:
            done = subprocesses.run(["git", "-C", tree.absolute(), *step], timeout=GIT_SECONDS, env=env)
        except (OSError, subprocesses.Failed) as error:
            raise SourceError(f"git cannot record {tree}: {in_words(error)}") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[:300]
            raise SourceError(f"git cannot record {tree}: {said}")
        if step[0] == "init":
            info = tree / ".git" / "info"
            info.mkdir(exist_ok=True)
            (info / "attributes").write_text(RAW_ATTRIBUTES)


def take_tree(source: str, commit: str, folder: Path, backend: Backend) -> None:
    """Write the files of `source` at `commit` into a new `folder`. A source without a history has one state for every
    commit. Sandboxes may change the files. Raises `SourceError`."""
    named = parse_source(source)
    if isinstance(named, PathSource) and (named.path / ".git").exists():
        named = GitSource(f"file://{named.path}", commit)
    elif isinstance(named, GitSource):
        named = GitSource(named.url, commit)
    cache = default_cache()
    check_cache(cache)
    with scratch() as work:
        work.chmod(0o711)
        with reading(
            named, backend=backend, work=work, downloads=cache / "downloads", releases=1, progress=lambda line: None
        ) as (_, inside):
            inside.tree(folder, backend.owner())


def bring_tree_out(sandbox: Sandbox, folder: Path, python: str) -> None:
    """Write the files of a sandbox's tree into `folder`, without git data. Raises `BadStream`."""
    bring_out(
        Inside(sandbox, WORKDIR, python), folder, LARGEST_TREE,
        where=lambda header: None if b".git" in header.names else header.path,
    )  # fmt: skip


def tree_id(folder: Path, backend: Backend) -> str:
    """The id that git gives the files of a folder. Raises `SourceError`."""
    with scratch() as work:
        work.chmod(0o711)
        with reading_tree(folder, "tree", None, backend=backend, work=work) as (found, _):
            return found.tree_hash
