"""Checks that a tunnel carries TLS for its own host and nothing else: what a client sends in clear is read before it is
forwarded.

Many sites share the addresses of one content network, which distinguishes them by the name in the first TLS message. A
build could name an index to us and another site in that message, and so reach the other site. A server may ask once
for another first message, whose name it then takes: both are read. What hides another name (Encrypted Client Hello), is
said twice, or is not as long as it says is refused, so that no server can read another name than is read here.
(OpenSSL would read the name too. It takes 57 kB a message, which no collector frees, and skips what it does not know.)
"""

import asyncio
import ipaddress
import re
import struct

from selfplay.repository.network.hosts import NAME, Address
from selfplay.repository.network.proxy_request import Refused

MOST_BYTES = 32 * 1024
MOST_FIRST = 2
"""First messages of a tunnel: a server asks for another one once."""
RECORD = struct.Struct("!BHH")
"""The head of a TLS record: its kind, a version, the bytes that follow."""
HANDSHAKE, CLIENT_HELLO, VERSION = 22, 1, 0x0301
BEFORE_LISTS = 2 + 32
"""Bytes of a first message before its lists: a version and random ones."""
SERVER_NAME, HOST_NAME, ENCRYPTED_HELLO = 0, 0, 0xFE0D


class NoHello(ValueError):
    """It is no first message of TLS, or none that every server reads alike."""


def name_in(hello: bytes) -> str | None:
    """The host that a first message, without its head, asks for; None if it names none. Raises `NoHello`."""
    rest = _taken(hello, BEFORE_LISTS)[1]
    for width in (1, 2, 1):  # the session, ciphers, compressions
        rest = _listed(rest, width)[1]
    extensions, behind = _listed(rest, 2) if rest else (b"", b"")
    found: dict[int, bytes] = {}
    while extensions:
        head, extensions = _taken(extensions, 2)
        content, extensions = _listed(extensions, 2)
        if (kind := int.from_bytes(head)) in found:
            raise NoHello("an extension is said twice")
        found[kind] = content
    if behind or ENCRYPTED_HELLO in found:
        raise NoHello("it may ask for another host")
    return _host_name(found[SERVER_NAME]) if SERVER_NAME in found else None


def _host_name(content: bytes) -> str:
    names, behind = _listed(content, 2)
    kind, rest = _taken(names, 1)
    name, more = _listed(rest, 2)
    if behind or more or kind[0] != HOST_NAME or not name.isascii() or b"\0" in name:
        raise NoHello("its name is not one host's")
    return name.decode("ascii")


def _taken(data: bytes, size: int) -> tuple[bytes, bytes]:
    if len(data) < size:
        raise NoHello("it is cut off")
    return data[:size], data[size:]


def _listed(data: bytes, width: int) -> tuple[bytes, bytes]:
    """A part that begins with its length, in so many bytes, and what follows it."""
    size, rest = _taken(data, width)
    return _taken(rest, int.from_bytes(size))


class ClientHellos:
    """Follows what a TLS client sends through a tunnel to `host`: each first message of its must ask for that host.
    After any other message in clear a server takes no further first one; what is encrypted cannot be told from it.
    `known`: whether the first one was read."""

    def __init__(self, host: Address) -> None:
        self._host = host
        self.known = self._over = False
        self._first = 0
        self._records, self._messages = bytearray(), bytearray()

    def feed(self, data: bytes) -> None:
        """Raises `Refused`; then `data` must not be forwarded."""
        if self._over:
            return
        self._records += data
        at = 0
        while len(self._records) - at >= RECORD.size and not self._over:
            kind, version, size = RECORD.unpack_from(self._records, at)
            if not self.known and (kind != HANDSHAKE or version >> 8 != VERSION >> 8):
                raise self._no_tls()
            if len(self._records) - at < RECORD.size + size:
                break
            at += RECORD.size + size
            if kind == HANDSHAKE:
                self._read(self._records[at - size : at])
        del self._records[:at]

    def _read(self, part: bytes | bytearray) -> None:
        self._messages += part
        while len(self._messages) >= 4:
            size = 4 + int.from_bytes(self._messages[1:4])
            if self._messages[0] != CLIENT_HELLO and self.known:
                self._over = True
                return
            if self._messages[0] != CLIENT_HELLO or size > MOST_BYTES:
                raise self._no_tls()
            if len(self._messages) < size:
                return
            self._first += 1
            self._refuse_other(bytes(self._messages[4:size]))
            self.known = True
            del self._messages[:size]

    def _refuse_other(self, hello: bytes) -> None:
        """Raises `Refused` for a first message that asks for another host."""
        try:
            name = name_in(hello)
        except NoHello as error:
            raise self._no_tls() from error
        if self._first > MOST_FIRST:
            raise self._no_tls()
        if not _is_for(name, self._host.host):
            named = name and re.fullmatch(NAME, name)
            other = Address(named[0], self._host.port) if named else self._host
            raise Refused(403, f"a tunnel to {self._host} was used for another host, {other.host}", other)

    def _no_tls(self) -> Refused:
        return Refused(403, f"a tunnel to {self._host} may only carry TLS", self._host)


async def checked_beginning(reader: asyncio.StreamReader, hellos: ClientHellos, seconds: float) -> bytes:
    """The first bytes of a tunnel, once `hellos` has read the first message in them. Raises `Refused`."""
    held = b""
    async with asyncio.timeout(seconds):
        while not hellos.known:
            data = await reader.read(MOST_BYTES)
            held += data
            if not data or len(held) > MOST_BYTES:
                raise asyncio.IncompleteReadError(held, None)
            hellos.feed(data)
    return held


def _is_for(name: str | None, host: str) -> bool:
    """Whether a TLS client that asks for `name` means `host`. If `host` is an address, there is no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return name is not None and name.lower() == host
    return name is None or name == host
