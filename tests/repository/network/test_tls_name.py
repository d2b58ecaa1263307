"""The first message of a tunnel, as a build may write it."""

import ssl

import pytest

from selfplay.repository.network.tls_name import FirstMessage


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
