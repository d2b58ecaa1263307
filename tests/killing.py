"""A real backend in which somebody kills: the agent of a sandbox, or the launcher, just before a chosen request."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from selfplay.sandbox import Backend, Cause, Completed, Sandbox, SandboxLost

Choice = Callable[[int, str], bool]
"""Whether to strike, from the number of the request (from 1) and the command."""


def running(word: str, times: int = 1) -> Choice:
    """Strike the first `times` requests whose command holds the word."""
    left = [times]

    def choose(number: int, command: str) -> bool:
        left[0] -= (hit := word in command and left[0] > 0)
        return hit

    return choose


def kill_agent(sandbox: Any) -> None:
    os.kill(sandbox.hello.pid, signal.SIGKILL)


def kill_inside(sandbox: Any, by: int = signal.SIGKILL) -> None:
    """Kill the first process that the agent starts from now on. The struck command waits for it (`awaiting`): on a busy
    machine a short one would be over before it is seen."""

    def strike() -> None:
        agent, deadline = psutil.Process(sandbox.hello.pid), time.monotonic() + 20
        while time.monotonic() < deadline:
            for child in agent.children():
                child.send_signal(by)
                with suppress(psutil.NoSuchProcess):  # what is stopped meets other signals when it goes on
                    child.send_signal(signal.SIGCONT)
                return

    threading.Thread(target=strike).start()


def terminate_inside(sandbox: Any) -> None:
    """The same by SIGTERM, as a scheduler, a logout or a machine that is short of memory does first."""
    kill_inside(sandbox, signal.SIGTERM)


def stand_still(sandbox: Any) -> None:
    """Nothing is killed: the struck command only waits (`awaiting`), as on a machine that stands still."""


def meet_limit(sandbox: Any) -> None:
    """As the kernel does, and says, when a sandbox has used up its memory: the agents of today are spared."""
    sandbox.close()
    raise SandboxLost("the sandbox took more than its memory", cause=Cause.LIMIT)


class Killing:
    """A `Backend` that strikes where `choose` says so. `struck` counts."""

    def __init__(self, backend: Backend, choose: Choice, strike: Callable[[Any], None] = kill_agent) -> None:
        self.backend, self.choose, self.strike = backend, choose, strike
        self.name, self.image_id, self.owner, self.close = backend.name, backend.image_id, backend.owner, backend.close
        self.python = backend.python
        self.asked = self.struck = 0
        self._lock = threading.Lock()

    @contextmanager
    def open(self, *asked: object) -> Iterator[Sandbox]:
        with self.backend.open(*asked) as sandbox:  # type: ignore[arg-type]
            yield _Watched(sandbox, self)  # type: ignore[misc]

    def before(self, sandbox: Any, command: object) -> bool:
        """Strike if this request is to be struck; whether its own process is what the strike waits for."""
        with self._lock:
            self.asked += 1
            hit = self.choose(self.asked, str(command))
            self.struck += hit
        if hit:
            self.strike(sandbox)
        return hit and self.strike in (kill_inside, terminate_inside, stand_still)


def awaiting(command: str | Sequence[str]) -> list[str]:
    """The command behind a stop that only a kill ends."""
    argv = ["bash", "-c", command] if isinstance(command, str) else command
    return ["bash", "-c", 'kill -STOP $$; exec "$@"', "bash", *argv]


class _Watched:
    def __init__(self, sandbox: Sandbox, backend: Killing) -> None:
        self.sandbox, self.backend = sandbox, backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sandbox, name)

    def run(self, command: str | Sequence[str], **options: Any) -> Completed:
        struck = self.backend.before(self.sandbox, command)
        return self.sandbox.run(awaiting(command) if struck else command, **options)

    def read_file(self, path: str, *options: int) -> bytes:
        self.backend.before(self.sandbox, f"read {path}")
        return self.sandbox.read_file(path, *options)
