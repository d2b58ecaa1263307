"""Where Go's modules come from: what `go env` says on this machine, which knows its own default.

Without Go on this machine, the user's variables say it. Credentials in a URL stay out of builds, as npm's do.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from selfplay import subprocesses
from selfplay.repository.errors import SourceError
from selfplay.repository.network.credentials import Secret, plain_url
from selfplay.repository.network.hosts import Address, address_of, is_loopback
from selfplay.repository.network.indexes import is_malformed, local_folder
from selfplay.sandbox import Mount

PROXIES, SUMS = "GOPROXY", "GOSUMDB"
NAMES = (PROXIES, SUMS, "GONOSUMDB", "GONOPROXY", "GOPRIVATE")
_ENTRY = re.compile(r"[^,|]+")
_WORDS = ("direct", "off")
SECONDS = 30.0
LOCAL = "localhost."
"""A name of this machine for which Go uses a proxy; for `localhost` it does not."""


@dataclass(frozen=True)
class GoProxies:
    """`env`: the build's variables. `urls`: what they name. `secrets`: credentials of these URLs, which the build's
    proxy adds. `folders`: local ones, which the build sees."""

    env: Mapping[str, str] = field(default_factory=dict)
    urls: tuple[str, ...] = ()
    secrets: Mapping[Address, Secret] = field(default_factory=dict)
    folders: tuple[Mount, ...] = ()


def go_proxies() -> GoProxies:
    """The user's configuration. Raises `SourceError` for a malformed URL, a folder that holds the user's home, and
    two users of one host."""
    env = {name: value for name, value in _told().items() if value}
    places = _ProxyEntries()
    if env.get(PROXIES):
        env[PROXIES] = _ENTRY.sub(lambda entry: places.proxy(entry[0].strip()), env[PROXIES])
    if env.get(SUMS):
        env[SUMS] = places.sums(env[SUMS])
    return GoProxies(env, tuple(places.urls), places.secrets, tuple(places.folders))


class _ProxyEntries:
    """Collects what the variables name, and writes them anew without credentials. Its methods raise `SourceError`."""

    def __init__(self) -> None:
        self.urls, self.secrets, self.folders = list[str](), dict[Address, Secret](), list[Mount]()

    def proxy(self, entry: str) -> str:
        """One entry of `GOPROXY`; Go takes one without a scheme for https."""
        if entry in _WORDS:
            return entry
        return self._url(entry if "://" in entry else f"https://{entry}", PROXIES)

    def sums(self, value: str) -> str:
        """`GOSUMDB`: `off`, or a name, with a key perhaps, and where it is reached if that is elsewhere."""
        words = value.split() or ["off"]
        if words[0] == "off":
            return words[0]
        if "@" in words[0] or len(words) > 2:
            raise SourceError(f"{SUMS} names no base of sums", "Give NAME+KEY, and a URL behind it if need be.")
        self._url(f"https://{words[0].partition('+')[0]}", SUMS)
        return " ".join([words[0], *(self._url(url, SUMS) for url in words[1:])])

    def _url(self, url: str, variable: str) -> str:
        if is_malformed(url):
            raise SourceError(f"{variable} holds what is no URL", "Check its host and its port.")
        if folder := local_folder(url):
            self.folders.append(Mount(folder, str(folder)))
            return url
        url = _by_name(url)
        plain, secret = plain_url(url)
        if address := address_of(url):
            self.urls.append(plain)
            if secret and self.secrets.setdefault(address, secret) != secret:
                raise SourceError(f"{variable} names two users of {address}", "A build can be one of them alone.")
        return plain


def _by_name(url: str) -> str:
    """The URL, with `LOCAL` for this machine's name: the build's way out is a proxy."""
    parts = urlsplit(url)
    if not parts.hostname or not is_loopback(parts.hostname):
        return url
    user, at, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit(parts._replace(netloc=f"{user}{at}{LOCAL}{port}"))


def _told() -> dict[str, str]:
    go = subprocesses.find("go")
    if go is None:
        return {name: os.environ.get(name, "") for name in NAMES}
    local = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}
    try:
        told = subprocesses.run([go, "env", *NAMES], timeout=SECONDS, env=local).stdout.decode("utf-8", "replace")
    except (subprocesses.Failed, OSError) as error:
        raise SourceError(f"`go env` does not answer: {type(error).__name__}", "Run it yourself.") from error
    return dict(zip(NAMES, told.splitlines(), strict=False))
