"""The client with which a trainer plays episodes of a run that `selfplay serve-env` serves on this machine. It needs
only Python's standard library, so it works in any trainer's environment."""

import http.client
import json
import os
import stat
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfplay.environments.errors import KINDS, EnvironmentRefused
from selfplay.errors import SelfplayError, in_words
from selfplay.rl.credit.rules import RoleName

HOST = "127.0.0.1"
ADDRESS_FILE = "environments.json"
MOST_ADDRESS, MOST_ANSWER = 4096, 64 << 20
"""Bytes of the address file, and of an answer."""
Messages = list[dict[str, str]]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows none: the token is for this port alone, which a shared run's file may name wrongly."""

    def redirect_request(self, *_: Any) -> None:
        return None


class NotServed(SelfplayError):
    """The run is not served, or its server does not answer."""


@dataclass(frozen=True)
class RemoteStep:
    """The next chat messages for the model; or, at the end, the episode's result (`results.SessionResult` as JSON
    values): `outcome`, `reward` (None if there is none, or not yet), `reason`, `bug`, `finish`, `calls`."""

    messages: Messages
    result: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        return self.result is not None


@dataclass(frozen=True)
class Client:
    """The sessions of a run. `seconds`: the time limit of one answer, including grading; `wait`: how long to wait for a
    free session."""

    port: int
    token: str
    seconds: float = 1800.0
    wait: float = 1800.0

    @classmethod
    def of(cls, run: str | Path, **more: float) -> "Client":
        """The client of the server that serves the run's folder. Raises `NotServed`."""
        path = Path(run) / ADDRESS_FILE
        try:
            found = _address(path)
            return cls(int(found["port"]), str(found["token"]), **more)
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise NotServed(
                f"{path} cannot be read: {in_words(error)}", "Start `selfplay serve-env SOURCE --out RUN`."
            ) from error

    def tasks(self, role: RoleName) -> list[str]:
        """What may be played now: bugs for the solver, prompts for the injector."""
        found: list[str] = self._ask("GET", f"tasks/{role}")
        return found

    def begin(self, role: RoleName, task: str) -> "RemoteEpisode":
        """A new episode. Raises `EnvironmentRefused`: `NoTask`, or `Busy` if no session is free in time."""
        answer = self._ask("POST", "sessions", {"role": role, "task": task, "wait": float(self.wait)}, self.wait)
        step, session, group = _step(answer), answer.get("session"), answer.get("group")
        if not isinstance(session, str) or not isinstance(group, str):
            raise _strange(answer)
        return RemoteEpisode(self, session, group, step)

    def credit(self, bug: str) -> dict[str, Any]:
        """The injector's credit for the bug from the attempts at it so far: `solved`, `attempts`, `reward`."""
        found: dict[str, Any] = self._ask("GET", f"bugs/{bug}")
        return found

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None, more: float = 0.0) -> Any:
        request = urllib.request.Request(
            f"http://{HOST}:{self.port}/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)
        try:
            with direct.open(request, timeout=self.seconds + more) as answer:
                return json.loads(answer.read(MOST_ANSWER))
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
            raise NotServed(
                f"the server on port {self.port} does not answer: {in_words(error)}", "Does it still run?"
            ) from error


@dataclass
class RemoteEpisode:
    """A running episode. `step`: the first messages for the model; `group`: equal for episodes that are compared."""

    client: Client
    session: str
    group: str
    step: RemoteStep
    _closed: bool = field(default=False, repr=False)

    def say(self, text: str, cut_off: bool = False) -> RemoteStep:
        """The answer to the model's message. `cut_off`: a token limit ended it. Raises `EnvironmentRefused`."""
        return self._take(self.client._ask("POST", f"sessions/{self.session}/say", {"text": text, "cut_off": cut_off}))

    def stop(self) -> RemoteStep:
        """End the episode, for instance when the context is full: what was submitted so far is graded."""
        return self.step if self.step.done else self._take(self.client._ask("POST", f"sessions/{self.session}/stop"))

    def close(self) -> None:
        """Abandon the episode, unless it has ended."""
        if not self._closed and not self.step.done:
            self._closed = True
            self.client._ask("DELETE", f"sessions/{self.session}")

    def _take(self, answer: dict[str, Any]) -> RemoteStep:
        self.step = _step(answer)
        return self.step


def _address(path: Path) -> dict[str, Any]:
    """The server's address from its file. A run's folder is untrusted: no link or pipe is read."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        found: dict[str, Any] = json.loads(file.read(MOST_ADDRESS))
        return found


def _step(answer: Any) -> RemoteStep:
    """What the server answers to a message. Raises `NotServed` if it is none of ours."""
    if isinstance(answer, dict) and isinstance(answer.get("messages"), list) and "result" in answer:
        return RemoteStep(answer["messages"], answer["result"])
    raise _strange(answer)


def _strange(answer: Any) -> NotServed:
    return NotServed(f"the server answers {str(answer)[:200]!r}", "Is it a server of selfplay?")


def _refusal(error: urllib.error.HTTPError) -> SelfplayError:
    try:
        said = json.loads(error.read(MOST_ANSWER))
        kind = KINDS.get(str(said["error"]), SelfplayError)
        return kind(str(said["message"]), str(said["hint"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, http.client.HTTPException):
        return EnvironmentRefused(f"the server answered {error.code}", "Is it a server of selfplay?")
