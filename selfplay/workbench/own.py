"""Programs of ours in a sandbox that shows what a repository's build wrote: they run by what the sandbox itself has."""

from dataclasses import dataclass

from selfplay.sandbox import Backend, Completed, Sandbox
from selfplay.workbench.staging import GIT_ENV

BUILD_SECONDS = 120.0


@dataclass(frozen=True)
class Own:
    """Programs of ours in a sandbox: the interpreter and the programs of the sandbox itself, none of its mounts, which
    the repository's build wrote (`/env/bin` comes first on the path of its world)."""

    sandbox: Sandbox
    python: str

    def run(self, command: list[str], stdin: bytes = b"") -> Completed:
        return self.sandbox.run(command, timeout=BUILD_SECONDS, stdin=stdin, env={**GIT_ENV, **self.sandbox.own_env})


def own_programs(backend: Backend, sandbox: Sandbox) -> Own:
    """How programs of ours are started in a sandbox."""
    return Own(sandbox, backend.python)
