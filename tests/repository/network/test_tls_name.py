"""The first message of a tunnel, as a build may write it."""

import contextlib
import ssl
from pathlib import Path

import pytest
from package_index import own_authority

from selfplay.repository.network.hosts import Address
from selfplay.repository.network.proxy_request import Refused
from selfplay.repository.network.tls_name import RECORD, ClientHellos, FirstMessage


def first_bytes(name: str) -> bytes:
    """What a TLS client of this host sends first."""
    out = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


def test_the_name_is_read_also_byte_by_byte() -> None:
    message, data = FirstMessage(), first_bytes("pypi.example")
    for at in range(len(data) - 1):
        assert message.feed(data[at : at + 1])
    assert not message.feed(data[-1:]) and message.name == "pypi.example"


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_name_that_is_not_ascii_is_refused_and_printed_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    """Python reports it on stderr before it calls anybody: a build printed as many tracebacks as it wanted."""
    message = FirstMessage()
    with pytest.raises(ssl.SSLError):
        message.feed(first_bytes("pypi.example").replace(b"pypi", b"\xff\x1b[m"))
    assert capfd.readouterr() == ("", "")


HOST = Address("pypi.example", 443)


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
