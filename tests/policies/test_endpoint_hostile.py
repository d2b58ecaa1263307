"""An endpoint whose answers are packed, or send the client elsewhere."""

import asyncio
import contextlib
import gzip
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from policies.asking import ask
from recorded import completion, serving

from selfplay.agent.model import Message, ModelError, Sampling
from selfplay.policies.endpoint import Endpoint, EndpointOptions


class Hostile(BaseHTTPRequestHandler):
    """An endpoint that answers with what its server was given: headers and a body."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        headers, body = self.server.said  # type: ignore[attr-defined]
        self.send_response(307 if "Location" in headers else 200)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextlib.contextmanager
def hostile(headers: dict[str, str], body: bytes) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        server.said = headers, body  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.mark.parametrize("how", ["gzip", "zstd", ""])
def test_a_small_answer_that_is_large_unpacked_is_refused(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfplay.policies.paced_client.MOST_ANSWER", 100_000)
    body = gzip.compress(b" " * 1_000_000) if how == "gzip" else b" " * (1_000_000 if not how else 10)
    with hostile({"Content-Encoding": how} if how else {}, body) as url, pytest.raises(ModelError):
        ask(url, retries=0)


def test_a_packed_answer_is_read() -> None:
    said = completion("Hi.", {"model": "m", "messages": []})
    with hostile({"Content-Encoding": "gzip"}, gzip.compress(json.dumps(said).encode())) as url:
        (reply,) = ask(url)
    assert reply.text == "Hi."


def test_an_endpoint_sends_nobody_on() -> None:
    with serving(lambda request: "inside") as (inner, server):
        with hostile({"Location": f"{inner}/chat/completions"}, b"") as url, pytest.raises(ModelError):
            ask(url, retries=0)
        assert server.requests == []


@pytest.mark.parametrize("key", ["sk-\u00e9", "sk-1\n", "sk\x00", "sk-1 "])
def test_a_key_that_no_request_can_carry(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "MY_KEY": key})
    with pytest.raises(ModelError, match=r"^\$MY_KEY holds letters that no key has"):
        Endpoint("m", EndpointOptions(base_url="http://127.0.0.1:9/v1", api_key_env="MY_KEY"))


def test_an_error_names_the_address_without_its_password() -> None:
    endpoint = Endpoint("m", EndpointOptions(base_url="http://me:S3CRET@127.0.0.1:9/v1?key=S3CRET", retries=0))
    with pytest.raises(ModelError, match=r"the endpoint http://127\.0\.0\.1:9/v1/ cannot be reached") as caught:
        asyncio.run(endpoint.reply([Message("user", "x")], Sampling()))
    assert "S3CRET" not in f"{caught.value}"


@pytest.mark.parametrize(
    "url",
    [
        "http://me:S3CRET@h:99999/v1",
        "http://me:S3CRET@[::1/v1",
        "me:S3CRET@h/v1",
        "h:8000/v1",
        "ftp://me:S3CRET@h/",
        "http://\u00e9\u2603/",
    ],
)
def test_an_address_that_is_none_is_not_repeated(url: str) -> None:
    with pytest.raises(ModelError, match=r"^--base-url is not the URL of a host") as caught:
        Endpoint("m", EndpointOptions(base_url=url))
    assert "S3C" not in f"{caught.value}{caught.value.__cause__}"
