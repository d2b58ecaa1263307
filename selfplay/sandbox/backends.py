"""The backends by name. No code falls back to a weaker one."""

from dataclasses import dataclass

from selfplay.owned_folders import refuse_temporary_of_another
from selfplay.sandbox.errors import IsolationUnavailable
from selfplay.sandbox.protocol import Backend

BACKENDS = ("bubblewrap", "docker")


@dataclass(frozen=True)
class Isolation:
    """The arguments of `open_backend` as a value, so that another process can open the same backend."""

    sandbox: str = "bubblewrap"
    image: str | None = None
    runtime: str | None = None

    def opened(self) -> Backend:
        """The backend. Raises `IsolationUnavailable`."""
        return open_backend(self.sandbox, self.image, self.runtime)


def open_backend(name: str = "bubblewrap", image: str | None = None, runtime: str | None = None) -> Backend:
    """The backend of that name, created and probed once per process, then shared.

    `image` and `runtime` are for `docker`: the user's image, and a runtime such as `runsc`. Raises
    `IsolationUnavailable` which names what this machine lacks and how to get it, `FolderOfAnother` where temporary
    files would lie in a folder of another user.
    """
    refuse_temporary_of_another()
    if name == "docker":
        from selfplay.sandbox.docker.opening import (
            docker_backend,  # its client takes longer to load than bwrap takes to start
        )

        return docker_backend(image, runtime)
    if name != "bubblewrap":
        raise IsolationUnavailable(f"there is no sandbox backend {name!r}", f"Known: {', '.join(BACKENDS)}.")
    if image or runtime:
        raise IsolationUnavailable("bubblewrap uses this machine's programs", "Images need `--sandbox docker`.")
    from selfplay.sandbox.bubblewrap import bubblewrap_backend

    return bubblewrap_backend()
