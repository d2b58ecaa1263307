"""Receives packs of a remote repository into a store of ours: on the host, because the credentials are here.

Nothing is unpacked: a pack stays one file, and git indexes it with limits on memory, file size and time. No local
repository is read here, even if a server redirects to one or the user's configuration rewrites a URL to one. git
follows no redirect: it would go to any host, including this machine, with the user's credentials for that host. A
redirect within the named host is followed here; any other one is an error that asks the user to name the address.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.gitdir import GitDir, GitError, failure
from selfplay.repository.fetching.running import ProgramBounds
from selfplay.repository.fetching.source import GitSource
from selfplay.repository.network.hosts import AUTHORITY, address_of

DEPTH = 200
"""Commits kept behind HEAD; one more is fetched."""
FETCHING = ProgramBounds(seconds=1800.0, output=1 << 20, memory=4 << 30, file=4 << 30)
ASKING = ProgramBounds(seconds=120.0, output=16 << 20, memory=4 << 30, file=64 << 20)
REMOTE_ONLY: Mapping[str, str | None] = {"GIT_ALLOW_PROTOCOL": "https:http:ssh"}
FETCHED = re.compile(rb"([0-9a-f]{40})\t")
PLAIN_REF = re.compile(r"refs/(?:heads|tags)/[^\s:^~?*\[\\{]+")
CHECK = "Check the URL and your access to it."
MOST_MOVES = 5
TRACED: Mapping[str, str | None] = {**REMOTE_ONLY, "GIT_TRACE_CURL": "2", "GIT_TRACE_CURL_NO_DATA": "1"}
SENT_ON = re.compile(r"returned error: 30[12378]\b")
LOCATION = re.compile(r"<= Recv header: location: *([^\s\x00-\x1f\x7f]+)", re.IGNORECASE)
PLAIN_URL = re.compile(rf"https?://{AUTHORITY}/[^\s\\]*")
ASKED = "/info/refs?service=git-upload-pack"


@dataclass(frozen=True)
class Access:
    """As whom a remote is asked. `settings`, `env`: of git, in addition; `user_config`: whether the user's own
    settings count."""

    settings: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str | None] = field(default_factory=lambda: REMOTE_ONLY)
    user_config: bool = True


AS_THE_USER = Access()


def located(store: GitDir, source: GitSource, access: Access = AS_THE_USER) -> tuple[GitSource, tuple[str, ...]]:
    """The source at the address where it answers, and its tags as `ls-remote` lists them; no tags if it does not
    answer. Raises `SourceError` if it redirects to another host."""
    traced = replace(access, env={**TRACED, **access.env})
    for _ in range(MOST_MOVES):
        try:
            return source, listed(store, source.url, "--tags", access=traced)
        except GitError as error:
            places = LOCATION.findall(error.stderr) if SENT_ON.search(error.stderr) else []
            if not places:
                return source, ()
        source = replace(source, url=_within(source, places[-1]))
    raise SourceError(f"{source} redirects again and again", CHECK)


def _within(source: GitSource, location: str) -> str:
    """The URL to which a server redirects, if it is on its own host: at the same port, or at https instead of http.
    Raises `SourceError`."""
    try:
        place = urljoin(source.url + ASKED, location)
    except ValueError:  # not a URL
        place = location
    url = place.removesuffix(ASKED)
    user = source.url.split("/")[2].rpartition("@")[0]
    plain = url.replace(f"//{user}@", "//", 1)
    here, there = address_of(source.url), address_of(url)
    ports = (here and here.port, there and there.port)
    same = here and there and here.host == there.host and (ports[0] == ports[1] or ports == (80, 443))
    down = source.url[:6].lower() == "https:" != url[:6]
    if not same or down or url == place or not PLAIN_URL.fullmatch(plain):
        raise SourceError(f"{source} redirects to {plain[:300]!r}", "Name that address yourself if you want it.")
    return url


def receive(store: GitDir, source: GitSource, access: Access = AS_THE_USER) -> str:
    """Fetch HEAD or `source.rev`, with some history; returns its commit or tag, empty if `source.rev` must be looked up
    among everything fetched. Raises `SourceError`."""
    try:
        fetch_exact(store, source.url, [source.rev or "HEAD"], FETCHING, f"--depth={DEPTH + 1}", access=access)
        return _fetched(store)
    except GitError as error:
        if source.rev is None:
            raise SourceError(f"{source} cannot be fetched: {failure(error)}", CHECK) from error
    try:
        names = [line.partition("\t")[2] for line in listed(store, source.url, "--heads", "--tags", access=access)]
        fetch_exact(store, source.url, filter(PLAIN_REF.fullmatch, names), FETCHING, access=access)
    except GitError as error:
        raise SourceError(f"{source} cannot be fetched: {failure(error)}", CHECK) from error
    return ""


def listed(store: GitDir, url: str, *what: str, access: Access = AS_THE_USER) -> tuple[str, ...]:
    """Lines of `ls-remote`. Raises `GitError`."""
    words = ["ls-remote", *what, "--end-of-options", url]
    out = store.run(
        *words,
        user_config=access.user_config,
        env=access.env,
        settings={**access.settings, **_straight(url)},
        bounds=ASKING,
    )
    return tuple(line for line in os.fsdecode(out).split("\n") if line)


def _straight(url: str) -> dict[str, str]:
    """Settings that follow no redirect, whatever the user's configuration says about hosts and paths."""
    return {f"http.{url}.followRedirects": "false"}


def fetch_exact(
    store: GitDir,
    url: str,
    wanted: Iterable[str],
    bounds: ProgramBounds,
    *options: str,
    access: Access = AS_THE_USER,
) -> None:
    """Fetch refs or commits by exact names. Their targets are written to one file, so that a remote with a million refs
    creates none here. Raises `GitError`."""
    words = ["fetch", "--quiet", "--no-tags", *options, "--stdin", "--end-of-options", url]
    names = b"".join(os.fsencode(name) + b"\n" for name in wanted)
    store.run(
        *words,
        stdin=names,
        user_config=access.user_config,
        env=access.env,
        settings={**access.settings, **_straight(url)},
        bounds=bounds,
    )


def _fetched(store: GitDir) -> str:
    match = FETCHED.match((store.path / "FETCH_HEAD").read_bytes()[:41])
    return match[1].decode() if match else ""
