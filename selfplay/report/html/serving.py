"""Serves the page of a run, which may still be running, only on this machine's loopback and to its own user.

Only GET is answered, and only if the request names this server as its host: with DNS rebinding, another site's page
would name its own host. The pool is read from a copy, and again only after its files changed; nothing in the run's
folder is locked, written or deleted.
"""

import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from selfplay.artifact.reading import existing_folder
from selfplay.curriculum import read_pool
from selfplay.curriculum.reading_bounds import confined_reading
from selfplay.errors import SelfplayError
from selfplay.local_server import LocalServer, OwnServer
from selfplay.report.html.bugs import bug_detail
from selfplay.report.html.document import content_policy, document, script_json
from selfplay.report.html.reading import Contents, read_contents

ADDRESS = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost")
MOST_OUTPUT = 20_000
"""The most characters of one output of an episode."""
WATCHED = ("curriculum.sqlite", "curriculum.sqlite-wal", "summary.json", "metrics.jsonl", "bugs")
SECONDS = 30
"""How long a connection may stay silent."""
HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}  # fmt: skip


class Followed:
    """A run that is read repeatedly, by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._sound: dict[str, tuple[int, SelfplayError | None]] = {}
        self._tag = ""
        self._contents: Contents | None = None

    def index(self) -> dict[str, Any]:
        """Rows and figures as they are now."""
        with self._lock:
            return confined_reading([self._folder], lambda: self._now().index)

    def bug(self, name: str) -> dict[str, Any]:
        """The details of a bug. Raises `SelfplayError`."""
        with self._lock:
            return confined_reading([self._folder], lambda: self._bug(name))

    def episode(self, name: str) -> dict[str, Any]:
        """An episode, step by step. Raises `SelfplayError`."""
        with self._lock:
            return confined_reading([self._folder], lambda: self._episode(name))

    def _bug(self, name: str) -> dict[str, Any]:
        contents = self._now()
        if name not in contents.bugs:
            raise SelfplayError("the run has no such bug")
        return bug_detail(contents.pool, contents.bugs[name], contents.attempts.get(name, []))

    def _episode(self, name: str) -> dict[str, Any]:
        contents = self._now()
        if name not in contents.names:
            raise SelfplayError("the run has no such episode")
        return contents.episode(name, MOST_OUTPUT)

    def _now(self) -> Contents:
        """The pool's current content, read again after its files changed. Bugs and episodes are read from their own
        files."""
        tag = self._state()
        if self._contents is None or tag != self._tag:
            with read_pool(self._folder) as pool:
                contents = read_contents(pool)
            self._keep_sound(contents)
            contents.index["tag"] = tag
            self._contents, self._tag = contents, tag
        return self._contents

    def _state(self) -> str:
        """A value that changes when one of the files shown at once changes."""
        found = []
        for name in WATCHED:
            with suppress(OSError):
                status = (self._folder / name).lstat()
                found.append(f"{name}:{status.st_size}:{status.st_mtime_ns}")
        return "-".join(found)

    def _keep_sound(self, contents: Contents) -> None:
        """Leave out the rows of damaged bugs. A bug's folder is read once, and again after it changes."""
        kept = []
        for row in contents.index["bugs"]:
            damage = self._damage(contents, row["id"])
            if damage is None:
                kept.append(row)
            else:
                contents.leave_out(f"bugs/{row['id']}", damage)
        contents.index["bugs"] = kept

    def _damage(self, contents: Contents, bug: str) -> SelfplayError | None:
        try:
            folder = existing_folder(contents.pool.folder, "bugs", bug)
            changed = folder.lstat().st_mtime_ns if folder else 0
            if self._sound.get(bug, (-1, None))[0] != changed:
                bug_detail(contents.pool, contents.bugs[bug], [])
                self._sound[bug] = changed, None
        except SelfplayError as error:
            self._sound[bug] = -1, error
        return self._sound[bug][1]


class Page(BaseHTTPRequestHandler):
    """One request."""

    server_version, sys_version = "selfplay", ""
    timeout = SECONDS

    def __init__(self, followed: Followed, *rest: Any) -> None:
        self._followed = followed
        super().__init__(*rest)

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self._hosts():
            return self._send(HTTPStatus.MISDIRECTED_REQUEST, {"problem": "this server has another name"})
        try:
            asked = urlsplit(self.path)
        except ValueError:
            return self._send(HTTPStatus.BAD_REQUEST, {"problem": "this address cannot be read"})
        try:
            self._answer(asked)
        except MemoryError:
            self._send(HTTPStatus.INSUFFICIENT_STORAGE, {"problem": "this run takes more memory than a shared one may"})
        except SelfplayError as error:
            self._send(HTTPStatus.NOT_FOUND, {"problem": f"{error.message} {error.hint}".strip()})

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer other methods and malformed requests as JSON, too."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._send(status, {"problem": "only GET is answered" if status != code else status.phrase})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a client's text must not reach the terminal."""

    def _hosts(self) -> set[str]:
        port = cast(LocalServer, self.server).server_port
        return {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())

    def _answer(self, asked: Any) -> None:
        kind, _, name = asked.path.removeprefix("/").partition("/")
        name = unquote(name, errors="replace")
        if asked.path == "/":
            self._send(HTTPStatus.OK, document(self._followed.index(), {}, live=True), "text/html")
        elif asked.path == "/news":
            index = self._followed.index()
            same = parse_qs(asked.query).get("since") == [index["tag"]]
            self._send(HTTPStatus.NO_CONTENT if same else HTTPStatus.OK, "" if same else index)
        elif kind == "bug" and name:
            self._send(HTTPStatus.OK, self._followed.bug(name))
        elif kind == "episode" and name:
            self._send(HTTPStatus.OK, self._followed.episode(name))
        else:
            self._send(HTTPStatus.NOT_FOUND, {"problem": "there is no such page"})

    def _send(self, status: HTTPStatus, body: str | Mapping[str, Any], kind: str = "application/json") -> None:
        data = (body if isinstance(body, str) else script_json(body)).encode()
        with suppress(ConnectionError, TimeoutError):  # the client is gone
            self.send_response(status)
            policy = f"{content_policy(live=True)}; frame-ancestors 'none'"
            for name, value in {**HEADERS, "Content-Security-Policy": policy}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)


def open_server(folder: Path, port: int) -> LocalServer:
    """A server of the run's page, which `serve_forever` starts. Port 0: any that is free. Raises `OSError`."""
    followed = Followed(folder)
    followed.index()  # refuse a folder without a run now
    return OwnServer((ADDRESS, port), partial(Page, followed))
