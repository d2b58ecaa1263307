"""One live container, on the supervisor's side."""

import contextlib
import time
from collections.abc import Callable, Mapping

from docker.errors import APIError
from requests.exceptions import RequestException

from selfplay.sandbox import container_cpu
from selfplay.sandbox.docker.client import Engine, unreachable
from selfplay.sandbox.errors import SandboxLost
from selfplay.sandbox.live import Link, LiveSandbox, memory_exceeded
from selfplay.sandbox.protocol import Limits

NEWS_SECONDS, LIVING_SECONDS = 2.0, 0.3
"""How long the engine may take to learn from the kernel why a container ended, or a process in a living one."""


class DockerSandbox(LiveSandbox):
    """A container and the stream to its agent."""

    def __init__(
        self,
        engine: Engine,
        id: str,
        link: Link,
        env: Mapping[str, str],
        limits: Limits,
        end: Callable[[str], None],
        own_env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(link, env, limits, own_env)
        self.id = id
        self._engine, self._remove = engine, end
        self._began = 0.0

    def _spent(self, cpu_seconds: float) -> None:
        container_cpu.add(cpu_seconds)  # no process of ours will report them

    def _kill(self) -> None:
        self._remove(self.id)

    def _begins(self) -> None:
        self._began = time.time()

    def _death(self, error: Exception) -> SandboxLost:
        try:
            self._engine.api.ping()
            if self._out_of_memory():
                return memory_exceeded(self._limits)
        except (RequestException, APIError) as lost:
            return unreachable(lost)
        return SandboxLost(f"the sandbox died: {error}")

    def _killed_for_memory(self, ended: bool) -> bool:
        """Only of the command itself: asking takes as long as a command, and an engine tells of its own limit alone."""
        with contextlib.suppress(RequestException, APIError):
            return ended and self._out_of_memory(LIVING_SECONDS)
        return False

    def _over_memory(self) -> bool:
        return True

    def _out_of_memory(self, seconds: float = NEWS_SECONDS) -> bool:
        """Whether the container ran out of memory since the last request began. The engine's events tell, because the
        container itself may be gone."""
        deadline = time.monotonic() + seconds
        while True:
            told = {"container": self.id, "event": ["oom", "die"]}
            with contextlib.closing(
                self._engine.api.events(since=self._began, until=time.time(), filters=told, decode=True)
            ) as events:
                heard = [event["Action"] for event in events if event["timeNano"] / 1e9 >= self._began]
            if "oom" in heard:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
