"""Connects a build's proxy to an allowed host: directly, or through the user's own proxy.

The user's `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` are read as the standard library reads them. Their
passwords stay outside of every sandbox.
"""

import asyncio
import base64
import ssl
import urllib.request
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from selfplay.repository.network.hosts import Address, Allowed, here

CONNECT_SECONDS = 30.0
HEAD_BYTES = 16 * 1024
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Unreachable(Exception):
    """An allowed host that could not be reached; the message is a sentence for the user."""


class NotThere(Exception):
    """A host that leads to a place that builds may not reach; the message is a sentence."""


@dataclass(frozen=True)
class Upstream:
    """A user's proxy. `authorization`: the header's value, None without a password."""

    scheme: str
    address: Address
    authorization: str | None


def upstream_for(address: Address, *, tunnel: bool) -> Upstream | None:
    """The user's proxy for this host; None if none is set or `NO_PROXY` names the host. Raises `Unreachable` for an
    unusable kind of proxy."""
    proxies = urllib.request.getproxies_environment()
    url = proxies.get("https" if tunnel else "http") or proxies.get("all")
    if not url or urllib.request.proxy_bypass(str(address), proxies):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError as error:
        raise Unreachable("the proxy of this machine's environment has no valid address") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unreachable(f"builds cannot use a {parts.scheme} proxy: set HTTPS_PROXY to one of http or https")
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    authorization = "Basic " + base64.b64encode(secret.encode()).decode() if secret else None
    return Upstream(parts.scheme, Address(parts.hostname, port), authorization)


async def reach(address: Address, allowed: Allowed, upstream: Upstream | None, *, tunnel: bool) -> Streams:
    """Streams to the host itself or, for a plain request through a proxy, to the proxy. Raises `Unreachable` and
    `NotThere`."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            if upstream is None:
                return await _direct(address, allowed)
            context = ssl.create_default_context() if upstream.scheme == "https" else None
            proxy = upstream.address
            streams = await asyncio.open_connection(proxy.host, proxy.port, ssl=context, limit=HEAD_BYTES)
            try:
                if tunnel:
                    await _through(streams, address, upstream)
            except BaseException:
                streams[1].close()
                raise
            return streams
    except TimeoutError as error:
        raise Unreachable(f"{address} did not answer within {CONNECT_SECONDS:.0f} s") from error
    except (OSError, UnicodeError) as error:
        what = f"the proxy {upstream.address}" if upstream else str(address)
        raise Unreachable(f"{what} cannot be reached: {getattr(error, 'strerror', None) or error}") from error


async def _direct(address: Address, allowed: Allowed) -> Streams:
    streams = await asyncio.open_connection(
        address.host, address.port, happy_eyeballs_delay=0.25, interleave=1, limit=HEAD_BYTES
    )
    peer = str(streams[1].get_extra_info("peername")[0])
    if here(peer) and address not in allowed.named:
        streams[1].close()
        raise NotThere(f"{address} leads to this machine itself")
    return streams


async def _through(streams: Streams, address: Address, upstream: Upstream) -> None:
    """Ask the user's proxy for a tunnel. Raises `Unreachable` with its answer."""
    reader, writer = streams
    lines = [f"CONNECT {address} HTTP/1.1", f"Host: {address}"]
    lines += [f"Proxy-Authorization: {upstream.authorization}"] if upstream.authorization else []
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await writer.drain()
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise Unreachable(f"the proxy {upstream.address} does not answer like a proxy") from error
    status = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    if len(status) < 2 or status[1] != "200":
        raise Unreachable(f"the proxy {upstream.address} answered {' '.join(status[1:])[:100]} for {address}")
