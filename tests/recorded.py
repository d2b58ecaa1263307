"""An OpenAI-compatible endpoint on this machine that plays recorded episodes: a strong model, written by hand."""

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "data" / "recorded"
Answer = Callable[[dict[str, Any]], Any]
"""From a request to a message's text, or to (status, content type, body)."""


def messages(name: str) -> list[str]:
    """A recorded episode: the model's messages, in order."""
    return [part.strip("\n") for part in re.split(r"^%%%%$", (RECORDED / name).read_text(), flags=re.MULTILINE)]


def playing(scripts: dict[str, Sequence[str]]) -> Answer:
    """Each request is answered with the next message of the script whose key its task holds."""

    def answer(request: dict[str, Any]) -> str:
        said = sum(message["role"] == "assistant" for message in request["messages"])
        task = request["messages"][1]["content"] if len(request["messages"]) > 1 else ""
        script = next((script for key, script in scripts.items() if key in task), ["ready"])
        return script[said] if said < len(script) else "I have nothing more to do."

    return answer


def completion(text: str, request: dict[str, Any], **message: Any) -> dict[str, Any]:
    words = sum(len(str(m.get("content")).split()) for m in request["messages"])
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": request["model"],
        "choices": [{"index": 0, "finish_reason": message.pop("finish_reason", "stop"), "logprobs": None,
                     "message": {"role": "assistant", "content": text, **message}}],
        "usage": {"prompt_tokens": words, "completion_tokens": len(text.split()), "total_tokens": words},
    }  # fmt: skip


class Server(ThreadingHTTPServer):
    """Counts what it was asked; `requests` are the bodies."""

    daemon_threads = True
    request_queue_size = 256
    answer: Answer
    requests: list[dict[str, Any]]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request["authorization"] = self.headers.get("Authorization")
        self.server.requests.append(request)
        said = self.server.answer(request)
        if said == "drop":
            self.close_connection = True
            self.connection.close()
            return
        if said == "drip":
            self._drip()
            return
        if said == "stall":
            time.sleep(30)
            return
        if isinstance(said, tuple):
            status, kind, body = said
        else:
            whole = said if isinstance(said, dict) else completion(said, request)
            status, kind, body = 200, "application/json", json.dumps(whole)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def _drip(self) -> None:
        """A blank now and then, as servers do to keep a connection."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(300):
            self.wfile.write(b" ")
            time.sleep(0.1)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, Server]]:
    """The endpoint's base URL, and the server."""
    server = Server(("127.0.0.1", 0), Handler)
    server.answer, server.requests = answer, []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()  # seconds until it sees its end
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", server
    finally:
        server.shutdown()
        server.server_close()
