"""Checks that a tunnel carries TLS for its own host and nothing else: what a client sends in clear is read before it is
forwarded.

Many sites share the addresses of one content network, which distinguishes them by the name in the first TLS message. A
build could name an index to us and another site in that message, and so reach the other site. A server may ask for
another first message, whose name it then takes: each is read. The standard library parses them.
"""

import asyncio
import ipaddress
import re
import ssl
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from selfplay.repository.network.hosts import NAME, Address
from selfplay.repository.network.proxy_request import Refused

MOST_BYTES, LARGEST_RECORD = 32 * 1024, 1 << 14
RECORD = struct.Struct("!BHH")
"""The head of a TLS record: its kind, a version, the bytes that follow."""
HANDSHAKE, CLIENT_HELLO, VERSION = 22, 1, 0x0301


class FirstMessage:
    """Reads the beginning of a TLS client's data. `name`: the requested host, None if there is none; `known`: set when
    it has been read."""

    def __init__(self) -> None:
        self.known = False
        self.name: str | None = None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._keep
        self._bytes = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._bytes, ssl.MemoryBIO(), server_side=True)

    def _keep(self, _tls: object, name: str | None, _context: object) -> int:
        self.known, self.name = True, name
        return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR  # only the name is needed

    def feed(self, data: bytes) -> bool:
        """Whether more data is needed. Raises `ssl.SSLError` if it is not TLS."""
        self._bytes.write(data)
        try:
            with _names_unread():
                self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return True
        except ssl.SSLError:
            if not self.known:
                raise
        return False


class ClientHellos:
    """Follows what a TLS client sends through a tunnel to `host`: each first message of its must ask for that host.
    After any other message in clear a server takes no further first one; what is encrypted cannot be told from it.
    `known`: whether the first one was read."""

    def __init__(self, host: Address) -> None:
        self._host = host
        self.known = self._over = False
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
            self._refuse_other(bytes(self._messages[:size]))
            self.known = True
            del self._messages[:size]

    def _refuse_other(self, hello: bytes) -> None:
        """Raises `Refused` for a first message that asks for another host."""
        message = FirstMessage()
        try:
            for at in range(0, len(hello), LARGEST_RECORD):
                piece = hello[at : at + LARGEST_RECORD]
                message.feed(RECORD.pack(HANDSHAKE, VERSION, len(piece)) + piece)
        except ssl.SSLError as error:
            raise self._no_tls() from error
        if not message.known:
            raise self._no_tls()
        if not _is_for(message.name, self._host.host):
            named = message.name and re.fullmatch(NAME, message.name)
            other = Address(named[0], self._host.port) if named else self._host
            raise Refused(403, f"a tunnel to {self._host} was used for another host, {other.host}", other)

    def _no_tls(self) -> Refused:
        return Refused(403, f"a tunnel to {self._host} may only carry TLS", self._host)


@contextmanager
def _names_unread() -> Iterator[None]:
    """Without a report of a name that is not ASCII: Python decodes it before it calls us, and prints a traceback for
    each, onto the terminal of the user."""
    before = sys.unraisablehook

    def others(unraisable: "sys.UnraisableHookArgs") -> None:
        if not isinstance(unraisable.exc_value, UnicodeDecodeError):
            before(unraisable)

    sys.unraisablehook = others
    try:
        yield
    finally:
        sys.unraisablehook = before


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
