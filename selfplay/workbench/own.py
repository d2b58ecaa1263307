"""Programs of ours in a sandbox that shows what a repository's build wrote: they run by what the sandbox itself has."""

from collections.abc import Mapping
from dataclasses import dataclass

from selfplay.sandbox import Backend, Completed, Sandbox, World
from selfplay.workbench.staging import GIT_ENV

BUILD_SECONDS = 120.0


@dataclass(frozen=True)
class Own:
    """Programs of ours in a sandbox: the interpreter and the programs of the sandbox itself, none of its mounts, which
    the repository's build wrote (`/env/bin` comes first on the path of its world)."""

    sandbox: Sandbox
    python: str
    env: Mapping[str, str]

    def run(self, command: list[str], stdin: bytes = b"") -> Completed:
        return self.sandbox.run(command, timeout=BUILD_SECONDS, stdin=stdin, env={**GIT_ENV, **self.env})


def own_programs(backend: Backend, world: World, sandbox: Sandbox) -> Own:
    """How programs of ours are started in a sandbox of this world."""
    mounted = tuple(f"{mount.target}/" for mount in world.mounts)
    folders = [one for one in world.env.get("PATH", "").split(":") if one and not f"{one}/".startswith(mounted)]
    return Own(sandbox, backend.python, {"PATH": ":".join(folders)} if folders else {})
