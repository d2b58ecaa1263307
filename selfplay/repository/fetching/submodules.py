"""Decides which submodules of an untrusted repository the host fetches, from where and as which user. No other module
decides this.

A `.gitmodules` is untrusted, while the credentials and networks of this machine are the user's. So a submodule is
fetched with the user's rights only from the host that the user named, and only if it has the same owner there, so that
a stranger on a large host cannot reach what the user can read. The owner is the first part of the path at a forge, or
the whole folder if the path is that of a file on a machine. From other public hosts it is fetched over https and
without credentials; from anywhere else not at all. No redirect is followed, because it could lead elsewhere.
"""

import os
import re
import socket
from dataclasses import dataclass

from selfplay.repository.fetching.gitdir import GitDir, GitError
from selfplay.repository.fetching.running import ProgramBounds
from selfplay.repository.fetching.transport import fetch_exact
from selfplay.repository.network.hosts import AUTHORITY, NAME, PORTS, is_public, plain

BOUNDS = ProgramBounds(seconds=600.0, output=1 << 20, memory=4 << 30, file=2 << 30)
MAX_URL = 2000
FORGE = "git"
USER = r"[A-Za-z0-9_][^\s/@?#\\]*"
URL = re.compile(rf"(https?|ssh)://(?:({USER})@)?{AUTHORITY}/[^\s\\\x00-\x1f\x7f]*", re.IGNORECASE)
SCP = re.compile(rf"(?:([A-Za-z0-9_][\w.-]*)@)?({NAME}):(?!:|//)\S+", re.ASCII)
GET = "name a local checkout of the source that holds it (`git submodule update --init` brings it there)"
KEPT = re.compile(
    r"PATH|TMPDIR|LD_LIBRARY_PATH|https?_proxy|all_proxy|no_proxy|SSL_CERT_FILE|SSL_CERT_DIR|GIT_SSL_CAINFO|GIT_EXEC_PATH",
    re.IGNORECASE,
)
"""The variables of a fetch without credentials: how this machine connects and which certificates it trusts; none of a
user."""
AS_NOBODY = {"credential.helper": "", "http.emptyAuth": "false", "http.sslVerify": "true"}


@dataclass(frozen=True)
class Remote:
    """A URL's target. `port`: None means what ssh is configured for. `owner`: see `_owner`."""

    scheme: str
    user: str
    host: str
    port: int | None
    owner: str = ""

    def is_at(self, source: "Remote | None") -> bool:
        """Whether this is the source's own host and owner, with no other user than the source's."""
        if source is None or (self.scheme, self.host, self.port) != (source.scheme, source.host, source.port):
            return False
        if not self.owner or self.owner != source.owner:
            return False
        return self.user == source.user or (self.scheme != "ssh" and not self.user)


def remote_of(url: str) -> Remote | None:
    """The target of a URL; None if it is not the URL of a remote repository, or if programs may read it differently."""
    if len(url) > MAX_URL:
        return None
    if found := URL.fullmatch(url):
        scheme, user, host, port = found.groups()
        try:
            name, number = plain(host), int(port) if port else PORTS.get(scheme.lower())
        except ValueError:
            return None
        if number is not None and not 0 < number < 65536:
            return None
        return Remote(scheme.lower(), user or "", name, number, _owner(_path(url, scheme, user)))
    found = SCP.fullmatch(url)
    if found is None:
        return None
    return Remote("ssh", found[1] or "", found[2].lower(), None, _owner(url.partition(":")[2]))


def _path(url: str, scheme: str, user: str | None) -> str:
    """The path of a URL. Over ssh, it is an absolute file path; at a forge, where every user is `git`, it is OWNER/NAME
    as in other URLs."""
    path = url.split("/", 3)[3].lstrip("/")
    forge = user == FORGE and len(_parts(path)) == 2
    return path if scheme.lower() != "ssh" or forge else f"/{path}"


def _owner(path: str) -> str:
    """The owner of a repository: the first part of a path of two or more parts, the folder of an absolute path; empty
    if the path goes up or is unusual."""
    parts = _parts(path)
    if len(parts) < 2 or {"..", "."} & set(parts) or "%" in path:
        return ""
    return "/" + "/".join(parts[:-1]) if path.startswith("/") else parts[0]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def receive_submodule(store: GitDir, url: str, commit: str, source: str) -> str:
    """Fetch one commit of a repository that an untrusted `.gitmodules` names; returns why not, or an empty text.
    `source`: the URL that the user named, empty for a folder of this machine."""
    if not source:
        return f"is not fetched for a folder of this machine: {GET}"
    remote = remote_of(url)
    if remote is None:
        return "is not the URL of a remote repository"
    try:
        if remote.is_at(remote_of(source)):
            fetch_exact(store, url, [commit], BOUNDS, "--depth=1")
            return ""
        why, addresses = _public_addresses(remote)
        if why:
            return f"is not fetched: {why}; {GET}"
        settings = AS_NOBODY | _pinned(remote, addresses)
        fetch_exact(
            store, url, [commit], BOUNDS, "--depth=1", settings=settings, user_config=False, env=_nobodys_environment()
        )
    except GitError:
        return f"cannot be fetched: {GET}"
    return ""


def _public_addresses(remote: Remote) -> tuple[str, tuple[str, ...]]:
    """Why the host may not be asked without credentials, or an empty text; and its addresses."""
    if remote.scheme != "https" or remote.user:
        return "for a host or owner other than the source's, only https without a user is allowed", ()
    try:
        found = socket.getaddrinfo(remote.host, remote.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return f"{remote.host} has no address", ()
    addresses = tuple(dict.fromkeys(str(one[4][0]) for one in found))
    if not addresses or not all(map(is_public, addresses)):
        return f"{remote.host} is not a public host", ()
    return "", addresses


def _pinned(remote: Remote, addresses: tuple[str, ...]) -> dict[str, str]:
    """The settings that make git use exactly the checked addresses, even if the name changes its meaning."""
    if ":" in remote.host or remote.host in addresses:
        return {}
    shown = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
    return {"http.curloptResolve": f"{remote.host}:{remote.port}:{shown}"}


def _nobodys_environment() -> dict[str, str | None]:
    """An environment without a home (for `.netrc`), agent, certificate or settings: None removes a variable."""
    removed: dict[str, str | None] = {name: None for name in os.environ if not KEPT.fullmatch(name)}
    return {**removed, "HOME": os.devnull, "GIT_ALLOW_PROTOCOL": "https"}
