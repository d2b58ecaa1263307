"""Receives the packs of a remote repository into a store of ours: on the host, since credentials live here.

Nothing is unpacked: a pack stays one file, and what git does with it to index it has bounds on memory, file size and
time. No local repository is ever read here, whatever a server redirects to or a user's configuration rewrites a URL to.
"""

import os
import re
from collections.abc import Iterable, Mapping

from selfplay.repository.errors import SourceError
from selfplay.repository.gitdir import GitDir, GitError, failure
from selfplay.repository.running import Bounds
from selfplay.repository.source import GitSource

DEPTH = 200
"""As many commits are kept behind HEAD; one more is fetched."""
FETCHING = Bounds(seconds=1800.0, output=1 << 20, memory=4 << 30, file=4 << 30)
ASKING = Bounds(seconds=120.0, output=16 << 20, memory=4 << 30, file=64 << 20)
REMOTE_ONLY: Mapping[str, str | None] = {"GIT_ALLOW_PROTOCOL": "https:http:ssh"}
FETCHED = re.compile(rb"([0-9a-f]{40})\t")
PLAIN_REF = re.compile(r"refs/(?:heads|tags)/[^\s:^~?*\[\\{]+")
CHECK = "Check the URL and your access to it."


def receive(store: GitDir, source: GitSource) -> str:
    """Fetch HEAD or `source.rev`, some way back; returns its commit or tag, empty when `source.rev` is to be looked up
    among all that was fetched. Raises `SourceError`."""
    try:
        fetch_exact(store, source.url, [source.rev or "HEAD"], FETCHING, f"--depth={DEPTH + 1}")
        return _fetched(store)
    except GitError as error:
        if source.rev is None:
            raise SourceError(f"{source} cannot be fetched: {failure(error)}", CHECK) from error
    try:
        names = [line.partition("\t")[2] for line in listed(store, source.url, "--heads", "--tags")]
        fetch_exact(store, source.url, filter(PLAIN_REF.fullmatch, names), FETCHING)
    except GitError as error:
        raise SourceError(f"{source} cannot be fetched: {failure(error)}", CHECK) from error
    return ""


def tags(store: GitDir, url: str) -> tuple[str, ...]:
    """The remote's tags as `ls-remote` lists them; none when it does not answer."""
    try:
        return listed(store, url, "--tags")
    except GitError:
        return ()


def listed(store: GitDir, url: str, *what: str) -> tuple[str, ...]:
    """Lines of `ls-remote`. Raises `GitError`."""
    words = ["ls-remote", *what, "--end-of-options", url]
    return tuple(os.fsdecode(store.run(*words, user_config=True, env=REMOTE_ONLY, bounds=ASKING)).splitlines())


def fetch_exact(
    store: GitDir,
    url: str,
    wanted: Iterable[str],
    bounds: Bounds,
    *options: str,
    settings: Mapping[str, str] | None = None,
    env: Mapping[str, str | None] = REMOTE_ONLY,
    user_config: bool = True,
) -> None:
    """Fetch refs or commits by exact names; where they pointed is written to one file, so that a remote with a million
    refs makes none here. Raises `GitError`."""
    words = ["fetch", "--quiet", "--no-tags", *options, "--stdin", "--end-of-options", url]
    names = b"".join(os.fsencode(name) + b"\n" for name in wanted)
    store.run(*words, stdin=names, user_config=user_config, env=env, settings=settings, bounds=bounds)


def _fetched(store: GitDir) -> str:
    match = FETCHED.match((store.path / "FETCH_HEAD").read_bytes()[:41])
    return match[1].decode() if match else ""
