"""The backends by name. Nothing here or elsewhere falls back to a weaker one."""

from collections.abc import Callable

from selfplay.sandbox.bubblewrap import bubblewrap_backend
from selfplay.sandbox.protocol import Backend, IsolationUnavailable

BACKENDS: dict[str, Callable[[], Backend]] = {"bubblewrap": bubblewrap_backend}


def open_backend(name: str = "bubblewrap") -> Backend:
    """The backend of that name, made and probed once per process and shared from then on.

    Raises `IsolationUnavailable` naming what this machine lacks and how to get it.
    """
    if name not in BACKENDS:
        raise IsolationUnavailable(f"there is no sandbox backend {name!r}", f"Known: {', '.join(sorted(BACKENDS))}.")
    return BACKENDS[name]()
