"""What the URL of a remote repository names: host, port, user and owner."""

import re
from dataclasses import dataclass

from selfplay.repository.network.hosts import AUTHORITY, NAME, PORTS, plain

MAX_URL = 2000
FORGE = "git"
GROUPS = frozenset({"gitlab.com"})
"""Hosts on which the first part of a path is an owner, whatever follows: with groups of groups."""
USER = r"[A-Za-z0-9_][^\s/@?#\\]*"
URL = re.compile(rf"(https?|ssh)://(?:({USER})@)?{AUTHORITY}/[^\s\\\x00-\x1f\x7f]*", re.IGNORECASE)
SCP = re.compile(rf"(?:([A-Za-z0-9_][\w.-]*)@)?({NAME}):(?!:|//)\S+", re.ASCII)


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
        if host.endswith("."):  # git would look up another name than we
            return None
        return Remote(scheme.lower(), user or "", name, number, _owner(name, _path(url, scheme, user)))
    found = SCP.fullmatch(url)
    if found is None:
        return None
    host = found[2].lower()
    return Remote("ssh", found[1] or "", host, None, _owner(host, url.partition(":")[2]))


def _path(url: str, scheme: str, user: str | None) -> str:
    """The path of a URL. Over ssh, it is an absolute file path; at a forge, where every user is `git`, it is OWNER/NAME
    as in other URLs."""
    path = url.split("/", 3)[3].lstrip("/")
    forge = user == FORGE and len(_parts(path)) == 2
    return path if scheme.lower() != "ssh" or forge else f"/{path}"


def _owner(host: str, path: str) -> str:
    """The owner of a repository: the folder that it is in, at `GROUPS` the first part of its path; empty if the path
    goes up or is unusual. Elsewhere the first part may be everybody's (`/scm/` of Bitbucket's own servers, a forge
    below a path), and a group's groups are then not one owner."""
    parts = _parts(path)
    if len(parts) < 2 or {"..", "."} & set(parts) or "%" in path:
        return ""
    if host in GROUPS and not path.startswith("/"):
        return parts[0]
    return "/" * path.startswith("/") + "/".join(parts[:-1])


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
