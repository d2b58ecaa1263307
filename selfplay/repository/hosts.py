"""Which hosts a build may reach: the package indexes, the hosts of the files they link to, and those the user named.

An index's files often lie on another host than its pages, so one project page of each index is read, outside of any
sandbox, and the hosts of its links are allowed too.
"""

import contextlib
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import requests
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
)
from pypi_simple.html import RepositoryPage

from selfplay import host
from selfplay.repository.errors import SourceError
from selfplay.repository.indexes import CERTIFICATES, Indexes

PORTS = {"http": 80, "https": 443}
NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})"
AUTHORITY = rf"({NAME}|\[[0-9A-Fa-f:.]{{2,45}}\])(?::([0-9]{{1,5}}))?"
"""A host name, an IPv4 address or a bracketed IPv6 address, and perhaps a port; never a user."""
EVERYWHERE = "pytest"
"""The project whose page is read: every build installs it, so an index that serves builds has it."""
PAGE_SECONDS = 15.0


@dataclass(frozen=True, order=True)
class Address:
    """A host (lower case; an IPv6 address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Allowed:
    """`named`: what the user configured or named, wherever it leads. `linked`: what an index's page links to; it may
    not lead back to this machine. `unread`: indexes whose page could not be read, and why."""

    named: frozenset[Address] = frozenset()
    linked: frozenset[Address] = frozenset()
    unread: tuple[str, ...] = ()

    def __contains__(self, address: Address) -> bool:
        return address in self.named or address in self.linked

    def __str__(self) -> str:
        return ", ".join(str(address) for address in sorted(self.named | self.linked)) or "no host"


def parse_host(text: str) -> tuple[Address, ...]:
    """The addresses that `--allow-host` names: without a port, those of http and https. Raises `SourceError`."""
    found = re.fullmatch(AUTHORITY, text)
    port = int(found[2]) if found and found[2] else None
    if found is None or not _is_host(found[1]) or not (port is None or 0 < port < 65536):
        raise SourceError(f"{text[:300]!r} is not a host that a build may be allowed", "Give HOST or HOST:PORT.")
    return tuple(Address(plain(found[1]), port or default) for default in (PORTS.values() if port is None else [port]))


def host_names(texts: Iterable[str]) -> tuple[str, ...]:
    """What `--allow-host` was given, checked, sorted and without repetitions. Raises `SourceError`."""
    names = sorted({text.lower() for text in texts})
    for name in names:
        parse_host(name)
    return tuple(names)


def recorded_hosts(recorded: object, allowed: Iterable[str]) -> tuple[str, ...]:
    """The hosts that a run records for its builds, all of which the user must allow. Raises `SourceError`."""
    if not isinstance(recorded, list | tuple) or not all(isinstance(name, str) for name in recorded):
        raise SourceError("the run's allow_hosts is no list of hosts")
    names, known = host_names(recorded), host_names(allowed)
    if missing := [name for name in names if name not in known]:
        raise SourceError(
            f"this run's environment was built with a way to {', '.join(missing[:5])}",
            "If you trust that: " + " ".join(f"--allow-host {name}" for name in missing[:5]),
        )
    return names


def plain(host: str) -> str:
    """A host as the keys of `Allowed` have it."""
    return str(ipaddress.IPv6Address(host[1:-1])) if host.startswith("[") else host.lower()


def _is_host(host: str) -> bool:
    try:
        return bool(plain(host))
    except ValueError:
        return False


def address_of(url: str) -> Address | None:
    """Where a URL leads; None for one that needs no network, or that is damaged."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    host = parts.hostname
    return Address(host.lower(), port) if host and port and parts.scheme in PORTS else None


def here(host: str) -> bool:
    """Whether an address is this machine's own, or one that only this machine's surroundings answer (link-local, such
    as a cloud's metadata). A name is neither before it is resolved, except `localhost`."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    return address.is_loopback or address.is_link_local or address.is_unspecified


def is_public(address: str) -> bool:
    """Whether anybody in the world would reach the same by that address: not loopback, private, link-local, multicast
    or reserved, also not as an IPv6 address that stands for such an IPv4 address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # also one with a zone
        return False
    within = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    found = within or found
    site = isinstance(found, ipaddress.IPv6Address) and found.is_site_local
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_private or site)


def allowed_for(
    indexes: Indexes, names: Iterable[str], environ: Mapping[str, str], *, registry: str | None = None
) -> Allowed:
    """What a build with these indexes may reach. `names`: as `--allow-host` takes them; `registry`: npm's."""
    urls = [indexes.default or PYPI_SIMPLE_ENDPOINT, *indexes.extra]
    named = {address for name in names for address in parse_host(name)}
    named |= {address for url in (*urls, *indexes.find_links, registry or "") if (address := address_of(url))}
    linked: set[Address] = set()
    unread = []
    with requests.Session() as session:
        session.verify = next((environ[name] for name in CERTIFICATES if environ.get(name)), True)
        for url in [*urls, *indexes.find_links]:
            index = address_of(url)
            if index is None:
                continue
            try:
                found = set(_links(session, url, flat=url in indexes.find_links))
            except (requests.RequestException, UnsupportedContentTypeError, NoSuchProjectError, ValueError) as error:
                unread.append(f"{index}: {_reason(error)}")
                continue
            linked |= {address for address in found if here(index.host) or not here(address.host)}
            named |= {address for address in found if here(index.host)}
    return Allowed(frozenset(named), frozenset(linked - named), tuple(unread))


def _links(session: requests.Session, url: str, *, flat: bool) -> Iterator[Address]:
    """Where the links of one page of an index lead, and where the page and one file are found after redirections."""
    seen: list[str] = []
    session.hooks["response"] = [lambda response, **_: seen.append(response.url)]
    if flat:
        answer = session.get(url, timeout=PAGE_SECONDS)
        answer.raise_for_status()
        links = [link.url for link in RepositoryPage.from_html(answer.content, answer.url).links]
    else:
        client = PyPISimple(endpoint=url.rstrip("/") + "/", session=session)
        links = [package.url for package in _page(client)]
    with contextlib.suppress(requests.RequestException):  # what it leads to is known then, or not needed
        session.head(next((link for link in links if address_of(link)), ""), timeout=PAGE_SECONDS, allow_redirects=True)
    for place in {*seen, *links}:
        if address := address_of(place):
            yield address


def _page(client: PyPISimple) -> list[DistributionPackage]:
    """The files of one project: of the one that every build needs, or else of the first that the index names."""
    try:
        return list(client.get_project_page(EVERYWHERE, timeout=PAGE_SECONDS).packages)
    except NoSuchProjectError:
        first = next(client.stream_project_names(timeout=PAGE_SECONDS), None)
        return list(client.get_project_page(first, timeout=PAGE_SECONDS).packages) if first else []


def _reason(error: Exception) -> str:
    """An error without its URL, which may hold a password."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"it answered {error.response.status_code}"
    return type(error).__name__


def npm_registry() -> str | None:
    """The registry that npm is configured for on this machine; None without npm."""
    npm = host.find("npm")
    if npm is None:
        return None
    asked = host.run([npm, "config", "get", "registry"], timeout=30)
    url = asked.stdout.decode("utf-8", "replace").strip()
    return url if asked.returncode == 0 and address_of(url) else None
