"""Credentials of a configured package index stay outside of builds: the build gets a URL without them, and its proxy
adds them to what is read from that index.

An index behind https is given as plain http to its own port: the build speaks plainly to the proxy, on this machine,
and the proxy speaks TLS to the index. That serves pages whose links are relative, as most are. A page that names its
own host by https would lead the build past the proxy's help; of such an index the credentials still reach the build,
which is said. What they allow beyond reading (an upload, say) no build can do with the proxy's help.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import requests

from selfplay.repository.network.hosts import Address, address_of
from selfplay.repository.network.index_pages import EVERYWHERE, PAGE_SECONDS
from selfplay.repository.network.index_session import IndexSession
from selfplay.repository.network.indexes import Indexes, trusted

READING = ("GET", "HEAD")


@dataclass(frozen=True)
class Secret:
    """What the proxy adds to plain requests for an address; with `tls` it speaks TLS there."""

    authorization: str
    tls: bool


@dataclass(frozen=True)
class TakenOut:
    """`inside`: the indexes as a build is given them; `secrets`: what was taken out of their URLs; `kept`: addresses
    whose credentials the build gets after all."""

    inside: Indexes
    secrets: Mapping[Address, Secret]
    kept: tuple[str, ...]

    @property
    def env(self) -> dict[str, str]:
        """pip ignores an index at a plain address that it is not told to trust; the way there is this machine's."""
        return {"PIP_TRUSTED_HOST": " ".join(map(str, self.secrets))} if self.secrets else {}


def take_out(indexes: Indexes, environ: Mapping[str, str]) -> TakenOut:
    """The credentials of these indexes, and the indexes without them."""
    secrets: dict[Address, Secret] = {}
    kept: list[str] = []

    def without(url: str) -> str:
        address, parts = address_of(url), urlsplit(url)
        if address is None or parts.username is None:
            return url
        secret = Secret(_basic(parts), parts.scheme == "https")
        if secrets.get(address, secret) != secret or (secret.tls and _names_itself(url, environ)):
            kept.append(str(address))
            return url
        secrets[address] = secret
        return urlunsplit(("http", str(address).removesuffix(":80"), parts.path, parts.query, parts.fragment))

    inside = Indexes(
        without(indexes.default) if indexes.default else None,
        tuple(map(without, indexes.extra)),
        tuple(map(without, indexes.find_links)),
    )
    return TakenOut(inside, secrets, tuple(kept))


def npm_variables(registry: str | None) -> tuple[dict[str, str], dict[Address, Secret]]:
    """npm's variables for its configured registry, and what the proxy adds to requests for it: credentials in its URL
    stay outside. npm reads packages from the registry's own host then, whatever its pages say."""
    address, parts = address_of(registry or ""), urlsplit(registry or "")
    if registry is None or address is None or parts.username is None:
        return ({"npm_config_registry": registry} if registry else {}), {}
    plain = urlunsplit(("http", str(address).removesuffix(":80"), parts.path, parts.query, parts.fragment))
    variables = {"npm_config_registry": plain, "npm_config_replace_registry_host": "always"}
    return variables, {address: Secret(_basic(parts), parts.scheme == "https")}


def _basic(parts: SplitResult) -> str:
    text = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(text.encode()).decode()


def _names_itself(url: str, environ: Mapping[str, str]) -> bool:
    """Whether a page of the index names its own host by https, or cannot be read."""
    with IndexSession(url) as session:
        place, authority = f"{url.rstrip('/')}/{EVERYWHERE}/", trusted(environ) or True
        try:
            page = session.get(place, timeout=PAGE_SECONDS, verify=authority)
            page.raise_for_status()
        except requests.RequestException:
            return True
    return f"https://{urlsplit(url).hostname}" in page.text.lower()
