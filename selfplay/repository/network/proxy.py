"""The proxy of a build: it serves one request per connection, and only for allowed hosts."""

import asyncio
import contextlib
import logging
import os
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus

from selfplay.errors import in_words
from selfplay.repository.network.credentials import READING, Secret
from selfplay.repository.network.hosts import Address, Allowed
from selfplay.repository.network.indexes import trusted
from selfplay.repository.network.proxy_request import ProxyRequest, Refused, parse
from selfplay.repository.network.tls_name import ClientHellos, checked_beginning
from selfplay.repository.network.upstream import NotThere, Streams, Unreachable, reach, upstream_for

MOST_CONNECTIONS = 100
"""Connections at a time; each uses two of the supervisor's open files. Installers keep about 50."""
HEAD_SECONDS, IDLE_SECONDS, LINGER_SECONDS = 10.0, 120.0, 5.0
CHUNK = 64 * 1024
MOST_KEPT = 50
READ_BY = re.compile(r"accept(-encoding|-language)?|user-agent|cache-control|pragma|range|if-[a-z-]+")
log = logging.getLogger(__name__)


class Proxy:
    """Serves connections of one build. `secrets`: what it adds to requests for an index. `refused`: requested hosts
    that are not allowed; `failed`: allowed hosts that could not be reached, and why. Both hold the first
    `MOST_KEPT`; `unreached` counts the latter."""

    def __init__(self, allowed: Allowed, secrets: Mapping[Address, Secret] | None = None) -> None:
        self.allowed = allowed
        self._secrets = secrets or {}
        self.refused: dict[Address, str] = {}
        self.failed: dict[Address, str] = {}
        self.unreached = 0
        self._open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, from its first byte to its last."""
        self._open += 1
        try:
            if self._open > MOST_CONNECTIONS:
                raise Refused(503, f"a build may have {MOST_CONNECTIONS} connections at a time")
            await self._answer(reader, writer)
        except Refused as refused:
            self._remember(refused)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    await _say(writer, refused)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            log.debug("a build's connection ended: %r", error)
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = parse(await _head(reader))
        secret = None if request.tunnel else self._secrets.get(request.address)
        if secret:
            request = _with(request, secret)
        far_reader, far_writer = far = await self._reach(request, tls=secret is not None and secret.tls)
        try:
            if request.tunnel:
                await self._tunnel(request.address, (reader, writer), far)
                return
            upstream = None if secret and secret.tls else upstream_for(request.address, tunnel=False)
            far_writer.write(request.head(upstream.authorization if upstream else None, absolute=bool(upstream)))
            await _copy(reader, far_writer, request.body)
            async with asyncio.timeout(IDLE_SECONDS) as idle:
                await _pump(far_reader, writer, idle)
        finally:
            far_writer.close()

    async def _tunnel(self, host: Address, near: Streams, far: Streams) -> None:
        near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        hellos = ClientHellos(host)

        def allow(data: bytes) -> None:
            try:
                hellos.feed(data)
            except Refused as refused:
                self._remember(refused)
                raise ConnectionAbortedError from refused

        try:
            beginning = await checked_beginning(near[0], hellos, HEAD_SECONDS)
        except Refused as refused:  # the tunnel is open: no answer can be sent any more
            self._remember(refused)
            return
        far[1].write(beginning)
        await relay(near, far, allow)

    def _remember(self, refused: Refused) -> None:
        if refused.asked and len(self.refused) < MOST_KEPT:
            self.refused.setdefault(refused.asked, refused.sentence)

    async def _reach(self, request: ProxyRequest, *, tls: bool = False) -> Streams:
        """Streams to an allowed host, with `tls` inside them. Raises `Refused`. A name is looked up only after it is
        known to be allowed."""
        address = request.address
        if address not in self.allowed:
            raise Refused(403, f"this build may not reach {address}: it is not a package index", address)
        try:
            tunnel = request.tunnel or tls
            streams = await reach(address, self.allowed, upstream_for(address, tunnel=tunnel), tunnel=tunnel)
            return await _secured(streams, address) if tls else streams
        except NotThere as error:
            raise Refused(403, f"this build may not reach it: {error}", address) from error
        except Unreachable as error:
            self.unreached += 1
            if len(self.failed) < MOST_KEPT:
                self.failed[address] = str(error)
            raise Refused(502, str(error)) from error


def _with(request: ProxyRequest, secret: Secret) -> ProxyRequest:
    """The request with an index's credentials, which replace its own, and headers that only say what is read: some
    servers do what another one says. Raises `Refused` for a request that changes the index."""
    if request.method not in READING or request.body:
        raise Refused(405, "builds may only read from an index that has credentials")
    others = tuple((name, value) for name, value in request.headers if READ_BY.fullmatch(name))
    return replace(request, headers=(*others, ("authorization", secret.authorization)))


async def _secured(streams: Streams, address: Address) -> Streams:
    """The same streams with TLS inside. Raises `Unreachable`."""
    context = ssl.create_default_context(cafile=trusted(os.environ) or None)
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            await streams[1].start_tls(context, server_hostname=address.host)
    except (OSError, TimeoutError) as error:
        streams[1].close()
        raise Unreachable(f"a TLS connection to {address} failed: {in_words(error)}") from error
    return streams


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Everything up to the first empty line. Raises `Refused` if it is too long or too slow."""
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise Refused(431, "the head of this request is too long") from error
    except TimeoutError as error:
        raise Refused(408, f"the head of a request takes at most {HEAD_SECONDS:.0f} s") from error


async def _say(writer: asyncio.StreamWriter, refused: Refused) -> None:
    text = f"{refused.sentence}\n".encode("utf-8", "replace")
    status = f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}"
    head = [status, "Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(text)}", "Connection: close"]
    writer.write("\r\n".join([*head, "", ""]).encode() + text)
    await writer.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    """Copy exactly `size` bytes: later bytes are not part of the request."""
    async with asyncio.timeout(IDLE_SECONDS):
        while size:
            data = await reader.read(min(size, CHUNK))
            if not data:
                raise asyncio.IncompleteReadError(b"", size)
            writer.write(data)
            await writer.drain()
            size -= len(data)
        await writer.drain()


async def relay(near: Streams, far: Streams, allow: Callable[[bytes], None]) -> None:
    """Copy both directions of a tunnel, until both ends closed, or one closed and the other stays silent. `allow` sees
    what comes from near before far does; an `OSError` of its ends that direction."""
    async with asyncio.timeout(IDLE_SECONDS) as idle, asyncio.TaskGroup() as both:
        both.create_task(_pump(near[0], far[1], idle, allow))
        both.create_task(_pump(far[0], near[1], idle))


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    idle: asyncio.Timeout,
    allow: Callable[[bytes], None] = lambda data: None,
) -> None:
    with contextlib.suppress(OSError):  # the other end hung up
        while data := await reader.read(CHUNK):
            allow(data)
            writer.write(data)
            await writer.drain()
            _extend(idle, IDLE_SECONDS)
        if writer.can_write_eof():
            writer.write_eof()
    _extend(idle, LINGER_SECONDS)


def _extend(idle: asyncio.Timeout, seconds: float) -> None:
    """Close the connection after this many seconds of silence from now on."""
    if not idle.expired():
        idle.reschedule(asyncio.get_running_loop().time() + seconds)
