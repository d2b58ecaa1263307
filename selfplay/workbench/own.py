"""Starts our own programs in a sandbox that contains a repository's build: they use only the sandbox's own programs."""

from dataclasses import dataclass

from selfplay.sandbox import Backend, Completed, Sandbox
from selfplay.sandbox.kill_detection import undisturbed
from selfplay.workbench.applying import GIT_ENV

BUILD_SECONDS = 120.0


@dataclass(frozen=True)
class Own:
    """Our programs in a sandbox: its own interpreter and programs, none from its mounts, which the repository's build
    wrote (`/env/bin` comes first on the world's path)."""

    sandbox: Sandbox
    python: str

    def run(self, name: str, command: list[str], stdin: bytes = b"") -> Completed:
        """The result of a program. Raises `ProgramKilled` if it was killed, or got no core."""
        env = {**GIT_ENV, **self.sandbox.own_env}
        return undisturbed(self.sandbox.run(command, timeout=BUILD_SECONDS, stdin=stdin, env=env), name, BUILD_SECONDS)


def own_programs(backend: Backend, sandbox: Sandbox) -> Own:
    """How to start our programs in this sandbox."""
    return Own(sandbox, backend.python)
