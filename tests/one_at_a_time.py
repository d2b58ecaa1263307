"""A backend of which at most one sandbox is live, as a lease of the pool allows: a second one is an error.

The sandboxes are real. A sandbox counts as closed once its context ends or its `close` is called.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from selfplay.sandbox import Backend, Limits, Sandbox, World


class OneAtATime:
    """Wraps a backend. For code that runs in one thread."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self.name, self.image_id = backend, backend.name, backend.image_id
        self.python = backend.python
        self._live = ""

    @contextmanager
    def open(self, world: World, limits: Limits = Limits()) -> Iterator[Sandbox]:
        assert not self._live, f"a second sandbox is opened while one is live, which was opened by\n{self._live}"
        with self._backend.open(world, limits) as sandbox:
            self._live = "".join(traceback.format_stack(limit=6)[:-2])
            try:
                yield _Told(sandbox, self)  # type: ignore[misc]  # the rest is the sandbox's own
            finally:
                self._live = ""

    def owner(self) -> tuple[int, int]:
        return self._backend.owner()

    def close(self) -> None:
        self._backend.close()

    def closed(self) -> None:
        self._live = ""


class _Told:
    """A sandbox that says when it is closed."""

    def __init__(self, sandbox: Sandbox, backend: OneAtATime) -> None:
        self._sandbox, self._backend = sandbox, backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def close(self) -> None:
        self._sandbox.close()
        self._backend.closed()
