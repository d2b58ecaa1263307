"""The first message of a tunnel, as a build may write it."""

import contextlib
import ssl
from pathlib import Path

import pytest
from package_index import own_authority

from selfplay.repository.network.hosts import Address
from selfplay.repository.network.proxy_request import Refused
from selfplay.repository.network.tls_name import RECORD, ClientHellos, NoHello, name_in

HOST = Address("pypi.example", 443)


def first_bytes(name: str) -> bytes:
    """What a TLS client of this host sends first."""
    out = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


def hello_of(name: str) -> bytes:
    """A first message without the heads of its record and of itself."""
    return first_bytes(name)[RECORD.size + 4 :]


def extensions_of(hello: bytes) -> int:
    """Where its extensions begin: a message may end there, and asks for no host."""
    at = 34
    for width in (1, 2, 1):
        at += width + int.from_bytes(hello[at : at + width])
    return at


def with_extension(hello: bytes, kind: int, content: bytes) -> bytes:
    """The message with one more extension, and all lengths right."""
    at = extensions_of(hello)
    more = hello[at + 2 :] + kind.to_bytes(2) + len(content).to_bytes(2) + content
    return hello[:at] + len(more).to_bytes(2) + more


def test_the_name_is_read_also_byte_by_byte() -> None:
    assert name_in(hello_of("pypi.example")) == "pypi.example"
    hellos, data = ClientHellos(HOST), first_bytes("pypi.example")
    for at in range(len(data) - 1):
        hellos.feed(data[at : at + 1])
        assert not hellos.known
    hellos.feed(data[-1:])
    assert hellos.known


def test_what_two_readers_may_read_differently_is_no_first_message() -> None:
    """Cut off, longer than it says, a name that is said twice or none of ASCII, and one that is hidden from us."""
    hello = hello_of("pypi.example")
    server_name = hello[hello.index(b"pypi.example") - 5 :][: 5 + len("pypi.example")]
    assert name_in(with_extension(hello, 0xFAFA, b"of nobody")) == "pypi.example"
    odd = [
        *(hello[:size] for size in range(len(hello)) if size != extensions_of(hello)),
        hello + b"\0",
        with_extension(hello, 0, server_name),
        with_extension(hello, 0xFE0D, b"\0\0\1\0\1\0\0\x20" + b"x" * 32 + b"\0\x10" + b"y" * 16),
        hello.replace(b"pypi", b"\xff\x1b[m"),
        hello.replace(b"pypi", b"pyp\0"),
    ]
    for one in odd:
        with pytest.raises(NoHello):
            name_in(one)
        with pytest.raises(Refused, match="may only carry TLS"):
            message = b"\1" + len(one).to_bytes(3) + one
            ClientHellos(HOST).feed(RECORD.pack(22, 0x0301, len(message)) + message)


def test_a_tunnel_has_two_first_messages_at_most() -> None:
    """Each took 57 kB that were never freed: one process inside filled the supervisor with 95 MB a second."""
    hellos, one = ClientHellos(HOST), first_bytes("pypi.example")
    hellos.feed(one + one)
    with pytest.raises(Refused, match="may only carry TLS"):
        hellos.feed(one)


def again(server: ssl.SSLContext, name: str, second: str) -> tuple[bytes, bytes]:
    """The two first messages of a client whose server asks for another one. `second`: the name in it, as long."""
    server.set_ecdh_curve("secp384r1")  # the client offers no key of this curve at first
    into, out, back = ssl.MemoryBIO(), ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(into, out, server_hostname=name)
    other = server.wrap_bio(back, into, server_side=True)
    sent = []
    for _ in range(2):
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        sent.append(out.read())
        back.write(sent[-1])
        with contextlib.suppress(ssl.SSLError):
            other.do_handshake()
    assert len(name) == len(second) and name.encode() in sent[1]
    return sent[0], sent[1].replace(name.encode(), second.encode())


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_each_first_message_asks_for_the_host(tmp_path: Path, size: int) -> None:
    """A server that knows none of the client's keys asks for another first message, in clear, and takes its name."""
    server, _ = own_authority(tmp_path)
    for second, fine in (("pypi.example", True), ("evil.example", False)):
        hellos, data = ClientHellos(HOST), b"".join(again(server, "pypi.example", second))
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        for piece in pieces[:-1] if size < 100 else ():
            hellos.feed(piece)
        refused = pytest.raises(Refused, match=r"used for another host, evil\.example")
        with contextlib.nullcontext() if fine else refused:
            hellos.feed(pieces[-1])


def test_a_first_message_in_pieces_or_behind_early_data(tmp_path: Path) -> None:
    one, two = again(own_authority(tmp_path)[0], "pypi.example", "evil.example")
    early = RECORD.pack(23, 0x0303, 5) + b"early"
    message = two[two.index(b"\x16\x03") + RECORD.size :]
    pieces = b"".join(RECORD.pack(22, 0x0303, 1) + message[at : at + 1] for at in range(len(message)))
    for sent in (one + early + two, one + early + pieces):
        with pytest.raises(Refused):
            ClientHellos(HOST).feed(sent)


def test_what_follows_other_messages_in_clear_is_not_read() -> None:
    """A key exchange in clear, of the old protocol, is followed by a record that is encrypted and may begin alike."""
    hellos = ClientHellos(HOST)
    hellos.feed(first_bytes("pypi.example") + RECORD.pack(22, 0x0303, 4) + b"\x10\0\0\0")
    hellos.feed(RECORD.pack(22, 0x0303, 40) + b"\x01" * 40)
