"""Shows the first few lines of a kind to a waiting user, and how many others there are."""

from selfplay.formatting import Say

MOST_LINES = 5


class LimitedLines:
    """Says the first lines; `end` says how many others there were. `what`: what each line is about, in the plural."""

    def __init__(self, say: Say, what: str, most: int = MOST_LINES) -> None:
        self._say, self._what, self._most = say, what, most
        self._count = 0

    def __call__(self, line: str) -> None:
        self._count += 1
        if self._count <= self._most:
            self._say(line)

    def end(self) -> None:
        if self._count > self._most:
            self._say(f"and {self._count - self._most} more {self._what} like these")
