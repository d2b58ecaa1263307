"""The head of a request, as strangers may write it."""

import pytest

from selfplay.repository.network.hosts import Address
from selfplay.repository.network.proxy_request import MOST_BODY, ProxyRequest, Refused, parse


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def test_a_tunnel() -> None:
    assert parse(head("CONNECT Example.org:443 HTTP/1.1", "Host: x")) == ProxyRequest(
        Address("example.org", 443), tunnel=True
    )
    assert parse(head("CONNECT [::1]:8080 HTTP/1.1")).address == Address("::1", 8080)
    assert parse(head("CONNECT [0:0::1]:80 HTTP/1.1")).address == Address("::1", 80), "one form of an address"


def test_a_plain_request_is_sent_on_in_origin_form() -> None:
    asked = parse(
        head(
            "GET http://index:8080/simple/?a=b HTTP/1.1", "Host: other", "Accept: */*", "Connection: keep-alive, X-Hop",
            "X-Hop: 1", "Proxy-Authorization: Basic x", "Upgrade: h2c", "HTTP2-Settings: AAA", "Keep-Alive: 9",
        )
    )  # fmt: skip
    assert asked.head() == head("GET /simple/?a=b HTTP/1.1", "Host: index:8080", "accept: */*", "Connection: close")
    assert asked.head("Basic y", absolute=True).startswith(b"GET http://index:8080/simple/?a=b HTTP/1.1\r\nHost: index")
    assert b"Proxy-Authorization: Basic y" in asked.head("Basic y", absolute=True)
    assert parse(head("GET http://index?q HTTP/1.1")).head().startswith(b"GET /?q HTTP/1.1\r\nHost: index\r\n")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET / HTTP/1.1", "Host: example.org"], 400),
        (["GET https://example.org/ HTTP/1.1"], 400),
        (["GET ftp://example.org/ HTTP/1.1"], 400),
        (["GET http://user@example.org/ HTTP/1.1"], 400),
        (["GET http://example.org@127.0.0.1/ HTTP/1.1"], 400),
        (["GET http://example.org#@evil/ HTTP/1.1"], 400),
        (["GET http://example.org\\@evil/ HTTP/1.1"], 400),
        (["GET http://example.org:99999/ HTTP/1.1"], 400),
        (["GET http://[::1/ HTTP/1.1"], 400),
        (["GET http://[fe80::1%25eth0]/ HTTP/1.1"], 400),
        (["GET http://[:::]/ HTTP/1.1"], 400),
        (["CONNECT example.org HTTP/1.1"], 400),
        (["CONNECT example.org:0 HTTP/1.1"], 400),
        (["CONNECT example.org:65536 HTTP/1.1"], 400),
        (["CONNECT example.org:443:443 HTTP/1.1"], 400),
        (["CONNECT user:word@example.org:443 HTTP/1.1"], 400),
        (["CONNECT example.org:443/ HTTP/1.1"], 400),
        (["CONNECT http://example.org:443 HTTP/1.1"], 400),
        (["CONNECT example.org\0.evil:443 HTTP/1.1"], 400),
        (["CONNECT p\u00fdpi.org:443 HTTP/1.1"], 400),
        (["connect example.org:443 HTTP/1.1"], 400),
        (["CONNECT example.org:443 HTTP/2"], 400),
        (["CONNECT  example.org:443 HTTP/1.1"], 400),
        (["PRI * HTTP/2.0", "", "SM"], 400),
        (["TRACE http://example.org/ HTTP/1.1"], 405),
        (["GET http://example.org/ HTTP/1.1", " folded: x"], 400),
        (["GET http://example.org/ HTTP/1.1", "Name : x"], 400),
        (["GET http://example.org/ HTTP/1.1", "No colon"], 400),
        (["GET http://example.org/ HTTP/1.1", "A: b\nProxy-Connection: x"], 400),
        (["GET http://example.org/ HTTP/1.1", "A: b\rC: d"], 400),
        (["GET http://example.org/\nGET HTTP/1.1"], 400),
        (["POST http://example.org/ HTTP/1.1", "Transfer-Encoding: chunked"], 400),
        (["POST http://example.org/ HTTP/1.1", "Content-Length: 1", "Content-Length: 2"], 400),
        (["POST http://example.org/ HTTP/1.1", "Content-Length: 1", "Content-Length: 1"], 400),
        (["POST http://example.org/ HTTP/1.1", "Content-Length: +1"], 400),
        (["POST http://example.org/ HTTP/1.1", "Content-Length: 1, 2"], 400),
        (["POST http://example.org/ HTTP/1.1", "Content-Length: 0x1"], 400),
        (["POST http://example.org/ HTTP/1.1", f"Content-Length: {MOST_BODY + 1}"], 413),
        (["GET http://example.org/ HTTP/1.1", *["A: b"] * 101], 431),
        ([""], 400),
    ],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_refused(lines: list[str], status: int) -> None:
    with pytest.raises(Refused) as caught:
        parse(head(*lines))
    assert caught.value.status == status


def test_a_body_has_one_plain_length() -> None:
    asked = parse(head("POST http://registry/audit HTTP/1.1", "content-length: 12", "Expect: 100-continue"))
    assert asked.body == 12 and asked.head().count(b"Content-Length: 12") == 1 and b"xpect" not in asked.head()
