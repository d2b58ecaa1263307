"""Checks that a tunnel carries TLS for its own host and nothing else: its first bytes are read before they are
forwarded.

Many sites share the addresses of one content network, which distinguishes them by the name in the first TLS message. A
build could name an index to us and another site in that message, and so reach the other site. The standard library
parses the message.
"""

import asyncio
import ipaddress
import re
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from selfplay.repository.network.hosts import NAME, Address
from selfplay.repository.network.proxy_request import Refused

MOST_BYTES = 32 * 1024


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
    if not _is_for(message.name, host.host):
        other = Address(message.name, host.port) if message.name and re.fullmatch(NAME, message.name) else host
        raise Refused(403, f"a tunnel to {host} was used for another host, {other.host}", other)
    return held


def _is_for(name: str | None, host: str) -> bool:
    """Whether a TLS client that asks for `name` means `host`. If `host` is an address, there is no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return name is not None and name.lower() == host
    return name is None or name == host
