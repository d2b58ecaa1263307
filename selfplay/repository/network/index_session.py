"""Our own requests to a package index, outside of any sandbox. They go only to the index's host and to hosts that the
index names, by links of its pages or by its own redirects; a redirect of another host counts only if the index also
named the target.

No request goes nearer to this machine than the index itself: a public index cannot make us query a private network, and
a private one cannot make us query this machine's own services.
"""

import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.utils import select_proxy

from selfplay.repository.network.hosts import Address, address_of, here, is_public
from selfplay.repository.network.peers import PeerAdapter, PeerRefused

HERE, PRIVATE, PUBLIC = range(3)
"""How near a host is to this machine."""


class SentElsewhere(requests.RequestException):
    """A request that is not sent, and the address it was meant for."""

    def __init__(self, address: Address | None, why: str) -> None:
        super().__init__(f"{address} {why}" if address else f"it sends on to {why}")
        self.address = address


class IndexSession(requests.Session):
    """A session for one index. `allow` gets the links of its pages."""

    def __init__(self, index: str) -> None:
        super().__init__()
        self._index = address_of(index)
        self._named: set[Address] = set()
        self._own_distance: int | None = None
        for scheme in ("http://", "https://"):
            self.mount(scheme, PeerAdapter(self._refuse_near))

    def allow(self, urls: Iterable[str]) -> None:
        """Allow requests to the hosts that a page of the index names."""
        self._named |= {address for url in urls if (address := address_of(url))}

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """The target of a redirect, which is allowed if the index itself answered."""
        target = super().get_redirect_target(resp)
        if target and self._own(address_of(resp.url)):
            self.allow([urljoin(resp.url, target)])
        return target

    def send(self, request: requests.PreparedRequest, **settings: Any) -> requests.Response:
        """Every request goes through here, including redirects. Raises `SentElsewhere`."""
        address = address_of(request.url or "")
        if address is None or (urlsplit(request.url or "").hostname or "").endswith("."):  # looked up anew, as another
            raise SentElsewhere(None, "something that is not a web address")
        if not self._known(address):
            raise SentElsewhere(address, "is not a host that the index names")
        by_proxy = select_proxy(request.url or "", settings.get("proxies")) is not None
        if address != self._index and distance(address.host, look_up=not by_proxy) < self._distance(by_proxy):
            raise SentElsewhere(address, "is nearer to this machine than the index: its own, or of a private network")
        try:
            return super().send(request, **settings)
        except PeerRefused as refused:
            raise SentElsewhere(None, str(refused)) from refused

    def _refuse_near(self, peer: str) -> None:
        if _of_address(peer) < self._distance(by_proxy=False):
            raise PeerRefused(f"{peer}, which is nearer to this machine than the index")

    def _known(self, address: Address) -> bool:
        return address in self._named or self._own(address)

    def _own(self, address: Address | None) -> bool:
        """Whether an address is the index's own: the same port, or https instead of http."""
        if address is None or self._index is None or self._index.host != address.host:
            return False
        return (ports := (self._index.port, address.port)) == (80, 443) or ports[0] == ports[1]

    def _distance(self, by_proxy: bool) -> int:
        if self._own_distance is None:
            self._own_distance = distance(self._index.host, look_up=not by_proxy) if self._index else PUBLIC
        return self._own_distance


def distance(host: str, *, look_up: bool = True) -> int:
    """How near a host is; for a name that is looked up, its nearest address. Names that only the user's proxy knows,
    and names without an address, count as public: the request itself will fail."""
    try:
        found = (
            {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)} if look_up else ()
        )
    except (OSError, UnicodeError):
        found = ()
    return min((_of_address(one) for one in found or (host,)), default=PUBLIC)


def _of_address(text: str) -> int:
    if here(text):
        return HERE
    literal = ":" in text or text.replace(".", "").isdigit()
    return PRIVATE if literal and not is_public(text) else PUBLIC
