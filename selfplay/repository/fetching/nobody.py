"""How the host fetches what a stranger named: without the user's credentials and settings, and only from public hosts.

The addresses that were looked at are those that git uses, also where the name means others a moment later.
"""

import os
import re
import socket

from selfplay.repository.fetching.remotes import Remote
from selfplay.repository.fetching.transport import Access
from selfplay.repository.network.hosts import is_public

KEPT = re.compile(
    r"PATH|TMPDIR|LD_LIBRARY_PATH|https?_proxy|all_proxy|no_proxy|SSL_CERT_FILE|SSL_CERT_DIR|GIT_SSL_CAINFO|GIT_EXEC_PATH",
    re.IGNORECASE,
)
"""The variables of a fetch without credentials: how this machine connects and which certificates it trusts; none of a
user."""
AS_NOBODY = {"credential.helper": "", "http.emptyAuth": "false", "http.sslVerify": "true"}


def as_nobody(remote: Remote) -> Access | str:
    """How this remote is asked, or why it may not be."""
    why, addresses = _public_addresses(remote)
    return why or Access(AS_NOBODY | _pinned(remote, addresses), _nobodys_environment(), user_config=False)


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
