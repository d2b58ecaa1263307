"""What the commands that check stored bugs share: the watcher of their progress."""

from typing import Protocol


class CheckWatcher(Protocol):
    """Receives the progress over the bugs of a run."""

    def expect(self, total: int, doing: str = ...) -> None:
        """A phase with `total` steps begins."""
        ...

    def done(self, line: str) -> None:
        """One more of the expected steps is done."""
        ...
