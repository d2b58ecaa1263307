"""Serves a run's sessions as JSON over HTTP on this machine, to clients with the token.

Each request has its own thread, and of those without the token few are open at a time; sessions run on the event loop
that opened them. The address and token are in `environments.json` of the run's folder, readable only by its user.
"""

import asyncio
import contextlib
import hmac
import json
import os
import re
import secrets
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from selfplay.artifact.decoding import first_fault
from selfplay.environments.client import ADDRESS_FILE, HOST
from selfplay.environments.errors import EnvironmentRefused, WrongToken
from selfplay.environments.results import SessionResult
from selfplay.environments.session import Told
from selfplay.environments.sessions import Sessions
from selfplay.errors import SelfplayError
from selfplay.local_server import LocalServer
from selfplay.rl.credit.rules import RoleName

MOST_BODY = 4 << 20
READING = 60.0
"""The most bytes of a request, and the seconds in which it must arrive."""
OURS = 500
"""The HTTP status of an error that is not the trainer's fault."""
MOST_WAIT = 3600.0


class _Begin(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    role: RoleName
    task: str
    wait: float = Field(0.0, ge=0, le=MOST_WAIT)


class _Say(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    cut_off: bool = False


@asynccontextmanager
async def served(sessions: Sessions, port: int, folder: Path) -> AsyncIterator[int]:
    """Serve until the context ends; the port, a free one for 0. Raises `EnvironmentRefused` if the port is taken."""
    loop, token = asyncio.get_running_loop(), secrets.token_urlsafe(24)

    class Handler(_Handler):
        def allowed(self) -> bool:
            return has_token(self, token)

        def answer(self) -> Any:
            coroutine = answered(sessions, self)
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    try:
        server = _TokenServer((HOST, port), Handler)
    except OSError as error:
        raise EnvironmentRefused(f"port {port} cannot be used: {error.strerror}", "Give another --port.") from error
    thread = threading.Thread(target=server.serve_forever, name="environments", daemon=True)
    thread.start()
    sweeping = asyncio.create_task(sessions.sweep())
    address = folder / ADDRESS_FILE
    try:
        _write(address, {"port": server.server_port, "token": token})
        yield server.server_port
    finally:
        address.unlink(missing_ok=True)
        sweeping.cancel()
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        await sessions.close_all()


def _write(path: Path, address: dict[str, Any]) -> None:
    path.unlink(missing_ok=True)  # left by a server that was killed
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        json.dump(address, file)


async def answered(sessions: Sessions, request: "_Handler") -> Any:
    """The answer to a request, as JSON values. Raises `SelfplayError`, `ValidationError`."""
    match (request.command, *request.path.strip("/").split("/")):
        case "GET", "tasks", ("injector" | "solver") as role:
            return sessions.run.tasks(role)
        case "GET", "bugs", bug:
            return sessions.run.credit(bug).to_json()
        case "POST", "sessions":
            wanted = _Begin.model_validate_json(request.body())
            name, group, found = await sessions.begin(wanted.role, wanted.task, wanted.wait)
            return {"session": name, "group": group, **_step(found)}
        case "POST", "sessions", name, "say":
            said = _Say.model_validate_json(request.body())
            return _step(await sessions.say(name, said.text, said.cut_off))
        case "POST", "sessions", name, "stop":
            return _step(await sessions.stop(name))
        case "DELETE", "sessions", name:
            await sessions.close(name)
            return {}
    raise EnvironmentRefused(f"there is nothing at {request.command} {request.path}", "See docs/environments.md.")


def _step(found: Told | SessionResult) -> dict[str, Any]:
    if isinstance(found, SessionResult):
        return {"messages": [], "result": found.to_json()}
    return {"messages": [{"role": one.role, "content": one.content} for one in found.messages], "result": None}


LENGTH = re.compile(r"[0-9]{1,9}")


def has_token(request: "_Handler", token: str) -> bool:
    """Whether a request may be read and answered."""
    return hmac.compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {token}".encode())


class _TokenServer(LocalServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    timeout = READING
    _body = b""

    def allowed(self) -> bool:
        return True

    def answer(self) -> Any:
        raise NotImplementedError

    def body(self) -> bytes:
        return self._body

    def respond(self) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):  # a client that hung up
            self._respond()

    def _respond(self) -> None:
        try:
            if not self.allowed():
                raise WrongToken("the token is missing or wrong", f"It stands in {ADDRESS_FILE} of the run's folder.")
            self.server.admitted(self.request)
            self._body = self._read()
            status, answer = 200, self.answer()
        except SelfplayError as error:
            status = error.status if isinstance(error, EnvironmentRefused) else OURS
            answer = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
        except ValidationError as error:
            said = first_fault(error)
            status, answer = 400, {"error": "EnvironmentRefused", "message": said, "hint": "See docs/environments.md."}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = respond

    def _read(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not LENGTH.fullmatch(length) or int(length) > MOST_BODY:
            raise EnvironmentRefused(f"a request of {length[:20]!r} bytes", f"The limit is {MOST_BODY}.")
        return self.rfile.read(int(length))

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""
