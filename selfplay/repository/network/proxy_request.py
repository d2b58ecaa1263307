"""Parses the head of one request from a build to its proxy, strictly.

Every byte is untrusted. A head that two programs could read differently is refused, so that nothing in it is hidden
from the next reader, such as the user's own proxy.
"""

import re
from dataclasses import dataclass

from selfplay.repository.network.hosts import AUTHORITY, PORTS, Address, plain

MOST_HEADERS = 100
MOST_BODY = 16 * 1024 * 1024
METHODS = ("GET", "HEAD", "POST", "PUT", "OPTIONS")
REQUEST = re.compile(r"([A-Z]{1,16}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]")
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):([\t\x20-\x7e\x80-\xff]*)")
URL = re.compile(rf"http://{AUTHORITY}(/[\x21-\x7e]*|\?[\x21-\x7e]*)?")
OURS = {
    "host", "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "content-length", "http2-settings",
    "proxy-connection", "proxy-authorization", "proxy-authenticate",
}  # fmt: skip
"""Headers about the connection, which is ours, or that we write ourselves."""


class Refused(Exception):
    """A request that is not served: the status and the reason as a sentence. `asked`: the host, if the host is the
    reason."""

    def __init__(self, status: int, sentence: str, asked: Address | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.asked = status, sentence, asked


@dataclass(frozen=True)
class ProxyRequest:
    """`tunnel`: it is a CONNECT; else `method`, `target` (path and query), `headers`, and the size of the `body`
    count."""

    address: Address
    tunnel: bool
    method: str = ""
    target: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: int = 0

    def head(self, authorization: str | None = None, *, absolute: bool = False) -> bytes:
        """The head to forward. `absolute`: for a proxy, with the whole URL and optionally an authorization."""
        host = str(self.address).removesuffix(":80")
        lines = [f"{self.method} {f'http://{host}' if absolute else ''}{self.target} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [f"Proxy-Authorization: {authorization}"] if authorization else []
        lines += [f"Content-Length: {self.body}"] if self.body or self.method in ("POST", "PUT") else []
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")


def parse(head: bytes) -> ProxyRequest:
    """Parse a head, which ends with an empty line. Raises `Refused`."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    request = REQUEST.fullmatch(first)
    if request is None:
        raise Refused(400, "this is not a request that a proxy could serve")
    headers = _headers(lines)
    method, target = request[1], request[2]
    if method == "CONNECT":
        found = re.fullmatch(AUTHORITY, target)
        if found is None or not found[2]:
            raise Refused(400, "a tunnel needs HOST:PORT and nothing else")
        return ProxyRequest(_address(found[1], found[2], 0), tunnel=True)
    found = URL.fullmatch(target)
    if found is None:
        raise Refused(400, "only http:// URLs without a user are served as they are; for https ask for a tunnel")
    if method not in METHODS:
        raise Refused(405, f"builds may not send {method} requests")
    path = found[3] or "/"
    dropped = OURS | {
        name.strip().lower() for key, value in headers if key == "connection" for name in value.split(",")
    }
    kept = tuple((name, value) for name, value in headers if name not in dropped)
    place = _address(found[1], found[2], PORTS["http"])
    return ProxyRequest(place, False, method, path if path.startswith("/") else "/" + path, kept, _body(headers))


def _headers(lines: list[str]) -> list[tuple[str, str]]:
    if len(lines) > MOST_HEADERS:
        raise Refused(431, f"a request may have {MOST_HEADERS} headers")
    found = [HEADER.fullmatch(line) for line in lines]
    if not all(found):
        raise Refused(400, "a header of this request is damaged")
    return [(match[1].lower(), match[2].strip(" \t")) for match in found if match]


def _address(host: str, port: str | None, default: int) -> Address:
    number = int(port) if port else default
    try:
        address = Address(plain(host), number)
    except ValueError:
        raise Refused(400, "this request names no host") from None
    if not 0 < number < 65536:
        raise Refused(400, "this request names no port")
    return address


def _body(headers: list[tuple[str, str]]) -> int:
    """The number of body bytes. Only one plain length, or none, is accepted: two programs may read chunks and
    repeated lengths differently."""
    lengths = [value for name, value in headers if name == "content-length"]
    if any(name == "transfer-encoding" for name, _ in headers) or len(lengths) > 1:
        raise Refused(400, "a body needs one Content-Length")
    if lengths and not re.fullmatch(r"[0-9]{1,18}", lengths[0]):
        raise Refused(400, "a Content-Length is a number")
    size = int(lengths[0]) if lengths else 0
    if size > MOST_BODY:
        raise Refused(413, f"a request's body may have {MOST_BODY} bytes")
    return size
