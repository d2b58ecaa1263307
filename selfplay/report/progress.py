"""Progress reports of a command: one line per finished episode, and the current phase."""

from types import TracebackType
from typing import Self

from rich.console import RenderableType

from selfplay.curriculum import Attempt
from selfplay.curriculum import RunProgress as Step
from selfplay.formatting import count, spaced
from selfplay.oracle.reasons import reason_in_words
from selfplay.report.display import Display, display
from selfplay.report.tables import short

STATUSES = {
    "valid": "gave a bug",
    "invalid": "failed a check",
    "duplicate": "made a bug that is there already",
    "gave_up": "gave up",
    "failed": "broke off",
    "unplayed": "could not be played",
}
"""The outcome of an injector's episode, in words."""


class LiveWatcher:
    """Reports progress, on a terminal or in a pipe. Before the first phase it says that the command is preparing."""

    def __init__(self, phase: str = "") -> None:
        self._first = phase
        self._display: Display | None = None
        self._completed = 0

    def __enter__(self) -> Self:
        self._display = display()
        if self._first:
            self.expect(None, self._first)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.display.close()

    @property
    def display(self) -> Display:
        assert self._display is not None, "a watcher shows something inside its `with` only"
        return self._display

    def say(self, line: str) -> None:
        """Show a line for the waiting user."""
        self.display.line(line)

    def show(self, page: RenderableType) -> None:
        """Show a page, only on a terminal."""
        self.display.page(page)

    def expect(self, total: int | None, doing: str = "solving", done: int = 0) -> None:
        """A phase begins; `total` None: the number of steps is unknown. `done`: steps of an earlier run."""
        self._completed = done
        self.display.begin(doing, total, done)

    def attempt(self, attempt: Attempt) -> None:
        reason = attempt.detail if attempt.reason == "nothing-handed-in" else reason_in_words(attempt.reason)
        self.done(f"{attempt.bug} {short(attempt.policy)} {attempt.number}: {reason}")

    def done(self, line: str) -> None:
        """One more of the expected steps is done."""
        self._completed += 1
        self.display.reached(self._completed)
        self.say(line)

    def step(self, step: Step) -> None:
        """An episode is finished; the step says how many bugs there are now."""
        result = step.result
        reason = f": {result.reason}" if result.reason else ""
        self.display.reached(step.bugs)
        self.say(f"episode {result.number} ({result.strategy}) {STATUSES.get(result.status, result.status)}{reason}")


def episodes_came_to(statuses: dict[str, int]) -> str:
    """`38 of 40 episodes gave up, 2 failed a check`: the outcomes of a run's episodes."""
    total = sum(statuses.values())
    found = sorted(statuses.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{n} {STATUSES.get(name, spaced(name))}" for name, n in found]
    return f"of {count(total, 'episode')} {', '.join(parts)}" if total else "no episode was finished"
