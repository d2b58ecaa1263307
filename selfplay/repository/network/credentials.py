"""Keeps the credentials of a configured package index out of builds: the build gets a URL without them, and its proxy
adds them to requests for that index.

An https index is given to the build as plain http on its own port: the build sends plain requests to our proxy on this
machine, and the proxy uses TLS to the index. This works for pages with relative links, which most are. Links that name
the index by https would bypass the proxy, so the build gets the credentials of such an index after all, and the user is
told. The proxy adds credentials only to reading requests, so a build cannot upload with them, for example.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import requests

from selfplay.repository.errors import SourceError
from selfplay.repository.network.hosts import Address, address_of
from selfplay.repository.network.index_pages import EVERYWHERE, PAGE_SECONDS
from selfplay.repository.network.index_session import IndexSession
from selfplay.repository.network.indexes import Indexes, trusted

READING = ("GET", "HEAD")


@dataclass(frozen=True)
class Secret:
    """What the proxy adds to plain requests for an address; with `tls` it uses TLS there."""

    authorization: str
    tls: bool


@dataclass(frozen=True)
class TakenOut:
    """`inside`: the indexes as the build gets them; `secrets`: what was removed from their URLs; `kept`: addresses
    whose credentials the build gets after all."""

    inside: Indexes
    secrets: Mapping[Address, Secret]
    kept: tuple[str, ...]

    @property
    def env(self) -> dict[str, str]:
        """The variable that makes pip accept these plain addresses; they lead to the proxy on this machine."""
        return {"PIP_TRUSTED_HOST": " ".join(map(str, self.secrets))} if self.secrets else {}


def take_out(indexes: Indexes, environ: Mapping[str, str]) -> TakenOut:
    """Remove the credentials of these indexes from their URLs."""
    secrets: dict[Address, Secret] = {}
    kept: list[str] = []

    def without(url: str) -> str:
        address, (plain, secret) = address_of(url), plain_url(url)
        if address is None or secret is None:
            return url
        if secrets.get(address, secret) != secret or (secret.tls and _names_itself(url, environ)):
            kept.append(str(address))
            return url
        secrets[address] = secret
        return plain

    inside = Indexes(
        without(indexes.default) if indexes.default else None,
        tuple(map(without, indexes.extra)),
        tuple(map(without, indexes.find_links)),
    )
    return TakenOut(inside, secrets, tuple(kept))


def npm_variables(registry: str | None) -> tuple[dict[str, str], dict[Address, Secret]]:
    """npm's variables for its configured registry, and what the proxy adds to requests for it: credentials in the URL
    stay outside. npm then reads packages from the registry's own host, whatever its pages say."""
    if registry is None:
        return {}, {}
    plain, secret = plain_url(registry)
    address = address_of(registry)
    if secret is None or address is None:
        return {"npm_config_registry": registry}, {}
    return {"npm_config_registry": plain, "npm_config_replace_registry_host": "always"}, {address: secret}


def plain_url(url: str) -> tuple[str, Secret | None]:
    """The URL as plain http without its credentials, and these; the URL itself if it has none."""
    address = address_of(url)
    if address is None or (parts := urlsplit(url)).username is None:
        return url, None
    plain = urlunsplit(("http", str(address).removesuffix(":80"), parts.path, parts.query, parts.fragment))
    return plain, Secret(_basic(parts), parts.scheme == "https")


def all_secrets(*found: Mapping[Address, Secret]) -> dict[Address, Secret]:
    """All of these. Raises `SourceError` where two tools have different ones for one address: requests do not say
    whose they are."""
    every: dict[Address, Secret] = {}
    for some in found:
        for address, secret in some.items():
            if every.setdefault(address, secret) != secret:
                raise SourceError(
                    f"two tools are configured with different users of {address}", "A build can be one of them alone."
                )
    return every


def _basic(parts: SplitResult) -> str:
    text = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(text.encode()).decode()


def _names_itself(url: str, environ: Mapping[str, str]) -> bool:
    """Whether a page of the index links to its own host by https, or cannot be read."""
    with IndexSession(url) as session:
        place, authority = f"{url.rstrip('/')}/{EVERYWHERE}/", trusted(environ) or True
        try:
            page = session.get(place, timeout=PAGE_SECONDS, verify=authority)
            page.raise_for_status()
        except requests.RequestException:
            return True
    return f"https://{urlsplit(url).hostname}" in page.text.lower()
