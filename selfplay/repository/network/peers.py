"""Connections of our own requests that look at whom they have reached before a byte is sent: a name may mean another
address than when it was looked up."""

import socket
from collections.abc import Callable
from typing import Any

import requests.adapters
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

Allow = Callable[[str], None]
"""Gets the address of a peer. Raises `PeerRefused`."""


class PeerRefused(Exception):
    """A connection to an address that may not be reached. No `OSError`, which urllib3 would take for a failed one."""


class PeerAdapter(requests.adapters.HTTPAdapter):
    """Asks `allow` of each connection that does not go through a proxy of the user's."""

    def __init__(self, allow: Allow) -> None:
        self._allow = allow
        super().__init__()

    def init_poolmanager(self, *args: Any, **settings: Any) -> None:
        super().init_poolmanager(*args, **settings)
        self.poolmanager.pool_classes_by_scheme = _pools(self._allow)


def _pools(allow: Allow) -> dict[str, type[HTTPConnectionPool]]:
    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return _allowed(super()._new_conn(), allow)

    class Secured(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return _allowed(super()._new_conn(), allow)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecuredPool(HTTPSConnectionPool):
        ConnectionCls = Secured

    return {"http": PlainPool, "https": SecuredPool}


def _allowed(made: socket.socket, allow: Allow) -> socket.socket:
    """The connection; closed if it is refused."""
    try:
        allow(str(made.getpeername()[0]))
    except BaseException:
        made.close()
        raise
    return made
