"""Where Go's modules come from: what `go env` says on this machine, which knows its own default.

Without Go on this machine, the user's variables say it. Credentials in a URL stay out of builds, as npm's do.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from selfplay import subprocesses
from selfplay.repository.errors import SourceError
from selfplay.repository.network.credentials import Secret, plain_url
from selfplay.repository.network.hosts import Address, address_of
from selfplay.repository.network.indexes import is_malformed, local_folder
from selfplay.sandbox import Mount

PROXIES, SUMS = "GOPROXY", "GOSUMDB"
NAMES = (PROXIES, SUMS, "GONOSUMDB", "GONOPROXY", "GOPRIVATE")
_ENTRY = re.compile(r"[^,|]+")
SECONDS = 30.0


@dataclass(frozen=True)
class GoProxies:
    """`env`: the build's variables. `urls`: what they name. `secrets`: credentials of these URLs, which the build's
    proxy adds. `folders`: local ones, which the build sees."""

    env: Mapping[str, str] = field(default_factory=dict)
    urls: tuple[str, ...] = ()
    secrets: Mapping[Address, Secret] = field(default_factory=dict)
    folders: tuple[Mount, ...] = ()


def go_proxies() -> GoProxies:
    """The user's configuration. Raises `SourceError` for a malformed URL, or a folder that holds the user's home."""
    told = _told()
    urls, secrets, folders = list[str](), dict[Address, Secret](), list[Mount]()

    def inside(entry: re.Match[str]) -> str:
        url = entry[0].strip()
        if is_malformed(url):
            raise SourceError(f"{PROXIES} names no URL of a module proxy", "Check its host and its port.")
        if folder := local_folder(url):
            folders.append(Mount(folder, str(folder)))
            return url
        plain, secret = plain_url(url)
        if address := address_of(url):
            urls.append(plain)
            if secret:
                secrets[address] = secret
        return plain

    env = {name: value for name, value in told.items() if value}
    if env.get(PROXIES):
        env[PROXIES] = _ENTRY.sub(inside, env[PROXIES])
    sums = env.get(SUMS, "").split()
    if sums and sums[0] != "off":
        urls.append(sums[1] if len(sums) > 1 else f"https://{sums[0].partition('+')[0]}")
    return GoProxies(env, tuple(urls), secrets, tuple(folders))


def _told() -> dict[str, str]:
    go = subprocesses.find("go")
    if go is None:
        return {name: os.environ.get(name, "") for name in NAMES}
    local = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}
    told = subprocesses.run([go, "env", *NAMES], timeout=SECONDS, env=local).stdout.decode("utf-8", "replace")
    return dict(zip(NAMES, told.splitlines(), strict=False))
