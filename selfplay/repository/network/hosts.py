"""Hosts: parsing them, how near they are to this machine, and which ones a build may reach."""

import ipaddress
import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil

from selfplay import subprocesses
from selfplay.repository.errors import SourceError

INTERNET = (socket.AF_INET, socket.AF_INET6)
ASKED_SECONDS = 30
"""How long npm and pip may take to say how they are configured."""
PORTS = {"http": 80, "https": 443}
NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})"
AUTHORITY = rf"({NAME}|\[[0-9A-Fa-f:.]{{2,45}}\])(?::([0-9]{{1,5}}))?"
"""A host name, an IPv4 address or a bracketed IPv6 address, optionally with a port; never with a user."""


@dataclass(frozen=True, order=True)
class Address:
    """A host (lower case; an IPv6 address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Allowed:
    """`named`: hosts that the user configured or named, wherever they lead. `linked`: hosts that an index's page links
    to; they may not lead to this machine. `unread`: indexes whose page could not be read, and why."""

    named: frozenset[Address] = frozenset()
    linked: frozenset[Address] = frozenset()
    unread: tuple[str, ...] = ()

    def __contains__(self, address: Address) -> bool:
        return address in self.named or address in self.linked

    def __str__(self) -> str:
        return ", ".join(str(address) for address in sorted(self.named | self.linked)) or "no host"


def parse_host(text: str) -> tuple[Address, ...]:
    """The addresses that `--allow-host` names; without a port, those for http and https. Raises `SourceError`."""
    found = re.fullmatch(AUTHORITY, text)
    port = int(found[2]) if found and found[2] else None
    if found is None or not _is_host(found[1]) or not (port is None or 0 < port < 65536):
        raise SourceError(f"{text[:300]!r} is not a host that a build may be allowed", "Give HOST or HOST:PORT.")
    return tuple(Address(plain(found[1]), port or default) for default in (PORTS.values() if port is None else [port]))


def host_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The values of `--allow-host`, checked, sorted and without duplicates. Raises `SourceError`."""
    names = sorted({text.lower() for text in texts})
    for name in names:
        parse_host(name)
    return tuple(names)


def recorded_hosts(recorded: object, allowed: Iterable[str]) -> tuple[str, ...]:
    """The hosts that a run records for its builds; the user must allow all of them. Raises `SourceError`."""
    if not isinstance(recorded, list | tuple) or not all(isinstance(name, str) for name in recorded):
        raise SourceError("the run's allow_hosts is not a list of hosts")
    names, known = host_names(recorded), host_names(allowed)
    if missing := [name for name in names if name not in known]:
        raise SourceError(
            f"this run's environment was built with access to {', '.join(missing[:5])}",
            "If you trust that: " + " ".join(f"--allow-host {name}" for name in missing[:5]),
        )
    return names


def plain(host: str) -> str:
    """A host in the form of the keys of `Allowed`. A name with a dot at its end is the name without it."""
    return str(ipaddress.IPv6Address(host[1:-1])) if host.startswith("[") else host.lower().removesuffix(".")


def _is_host(host: str) -> bool:
    try:
        return bool(plain(host))
    except ValueError:
        return False


def address_of(url: str) -> Address | None:
    """The address of a URL; None if it needs no network or is malformed."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    host = parts.hostname
    return Address(host.lower().removesuffix("."), port) if host and port and parts.scheme in PORTS else None


def here(host: str) -> bool:
    """Whether an address belongs to this machine (loopback or any interface), or is link-local, such as a cloud's
    metadata service. Unresolved names do not, except `localhost`."""
    if is_loopback(host):
        return True
    try:
        address = _address(host)
    except ValueError:
        return False
    return address.is_link_local or address.is_unspecified or address in _own()


def is_loopback(host: str) -> bool:
    """Whether it is a name or an address of this machine alone."""
    try:
        return _address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _own() -> set[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The current addresses of this machine's interfaces."""
    found = [one.address for every in psutil.net_if_addrs().values() for one in every if one.family in INTERNET]
    return {_address(one) for one in found}


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parse an address, without its zone, and as IPv4 if it stands for one. Raises `ValueError`."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def is_public(address: str) -> bool:
    """Whether an address is globally reachable: not loopback, private, link-local, multicast or reserved, including
    IPv6 addresses that stand for such IPv4 addresses."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # also for an address with a zone
        return False
    within = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    found = within or found
    site = isinstance(found, ipaddress.IPv6Address) and found.is_site_local
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_private or site)


def npm_registry() -> str | None:
    """The registry configured for npm on this machine, by the environment or its files; None without npm, or if npm
    hides it because a file of its configuration holds credentials."""
    npm = subprocesses.find("npm")
    if npm is None:
        return None
    told = next((os.environ[name] for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY") if name in os.environ), "")
    if told and address_of(told):
        return told
    try:
        asked = subprocesses.run([npm, "config", "get", "registry"], timeout=ASKED_SECONDS)
    except (subprocesses.Failed, OSError) as error:
        raise SourceError(f"npm does not say which registry it uses: {error}", "Set npm_config_registry.") from error
    url = asked.stdout.decode("utf-8", "replace").strip()
    return url if asked.returncode == 0 and address_of(url) else None
