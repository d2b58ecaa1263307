"""A watcher that keeps what it was told, and the processes of Ray's actors: for tests that strike a run midway."""

import contextlib
from typing import Any

import psutil


class Watcher:
    """Keeps what is said or done; `strike` is called with it."""

    def __init__(self, strike: Any = lambda line: None) -> None:
        self.lines: list[str] = []
        self.strike = strike

    def say(self, line: str) -> None:
        self.lines.append(line)
        self.strike(line)

    done = say

    def expect(self, total: int | None, doing: str = "", done: int = 0) -> None: ...

    def step(self, step: object) -> None: ...

    def attempt(self, attempt: object) -> None: ...

    def show(self, page: object) -> None: ...


def actors(kind: str) -> list[psutil.Process]:
    """The processes of Ray's actors of this class, started by this one."""
    found = []
    for process in psutil.Process().children(recursive=True):  # other tests have actors, too
        with contextlib.suppress(psutil.Error):
            if any(kind in part for part in process.cmdline()):
                found.append(process)
    return found
