"""One live container, on the supervisor's side."""

from collections.abc import Callable, Mapping, Sequence

from docker.errors import APIError
from requests.exceptions import RequestException

from selfplay.sandbox import elsewhere
from selfplay.sandbox.docker.client import Engine, unreachable
from selfplay.sandbox.live import Link, LiveSandbox
from selfplay.sandbox.protocol import WORKDIR, Completed, Limits, SandboxError


class DockerSandbox(LiveSandbox):
    """A container and the stream to its agent."""

    def __init__(
        self, engine: Engine, id: str, link: Link, env: Mapping[str, str], limits: Limits, end: Callable[[str], None]
    ) -> None:
        super().__init__(link, env, limits)
        self.id = id
        self._engine, self._remove = engine, end

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        cwd: str = WORKDIR,
        env: Mapping[str, str] | None = None,
        merge_stderr: bool = False,
    ) -> Completed:
        """As every sandbox's, with its core seconds noted: no process of ours will report them."""
        done = super().run(command, timeout=timeout, stdin=stdin, cwd=cwd, env=env, merge_stderr=merge_stderr)
        elsewhere.add(done.cpu_seconds)
        return done

    def _kill(self) -> None:
        self._remove(self.id)

    def _death(self, error: Exception) -> SandboxError:
        try:
            self._engine.api.ping()
        except (RequestException, APIError) as lost:
            return unreachable(lost)
        return SandboxError(f"the sandbox died: {error}")
