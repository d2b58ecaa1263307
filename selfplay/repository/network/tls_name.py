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
    After any other message in clear a server takes no further first one; what is encrypted cannot be told from it."""

    def __init__(self, host: Address) -> None:
        self._host = host
        self._over = False
        self._records, self._messages = bytearray(), bytearray()

    def feed(self, data: bytes) -> None:
        """Raises `Refused`; then `data` must not be forwarded."""
        if self._over:
            return
        self._records += data
        at = 0
        while len(self._records) - at >= RECORD.size and not self._over:
            kind, _, size = RECORD.unpack_from(self._records, at)
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
            if self._messages[0] != CLIENT_HELLO:
                self._over = True
                return
            if size > MOST_BYTES:
                raise Refused(403, f"a tunnel to {self._host} may only carry TLS", self._host)
            if len(self._messages) < size:
                return
            refuse_other(bytes(self._messages[:size]), self._host)
            del self._messages[:size]


def refuse_other(hello: bytes, host: Address) -> None:
    """Raises `Refused` for a first message that asks for another host."""
    message = FirstMessage()
    try:
        for at in range(0, len(hello), LARGEST_RECORD):
            piece = hello[at : at + LARGEST_RECORD]
            message.feed(RECORD.pack(HANDSHAKE, VERSION, len(piece)) + piece)
    except ssl.SSLError as error:
        raise Refused(403, f"a tunnel to {host} may only carry TLS", host) from error
    if not message.known:
        raise Refused(403, f"a tunnel to {host} may only carry TLS", host)
    _refuse_name(message.name, host)


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


async def checked_beginning(reader: asyncio.StreamReader, host: Address, seconds: float) -> bytes:
    """The first bytes of a tunnel to `host`, once they are known to be TLS for that host. Raises `Refused`."""
    message, held = FirstMessage(), b""
    try:
        async with asyncio.timeout(seconds):
            while True:
                data = await reader.read(MOST_BYTES)
                held += data
                if not data or len(held) > MOST_BYTES:
                    raise asyncio.IncompleteReadError(held, None)
                if not message.feed(data):
                    break
    except ssl.SSLError as error:
        raise Refused(403, f"a tunnel to {host} may only carry TLS", host) from error
    _refuse_name(message.name, host)
    return held


def _refuse_name(name: str | None, host: Address) -> None:
    if not _is_for(name, host.host):
        other = Address(name, host.port) if name and re.fullmatch(NAME, name) else host
        raise Refused(403, f"a tunnel to {host} was used for another host, {other.host}", other)


def _is_for(name: str | None, host: str) -> bool:
    """Whether a TLS client that asks for `name` means `host`. If `host` is an address, there is no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return name is not None and name.lower() == host
    return name is None or name == host
