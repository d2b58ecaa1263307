"""What a run shows while it works: a line per finished episode, and what is being done now."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from selfplay.curriculum import Attempt
from selfplay.curriculum import Progress as Step
from selfplay.report.tables import safe, short


class LiveWatcher:
    """A progress bar on a terminal, plain lines elsewhere, on standard error."""

    def __init__(self, wanted: int | None = None) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("preparing", total=wanted)

    def __enter__(self) -> "LiveWatcher":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        self._console.print(safe(line), highlight=False)

    def expect(self, count: int, doing: str = "solving") -> None:
        self._bar.update(self._task, total=count, completed=0, description=doing)

    def attempt(self, attempt: Attempt) -> None:
        reason = attempt.detail if attempt.reason == "nothing-handed-in" else attempt.reason
        self.done(f"{attempt.bug} {short(attempt.policy)} {attempt.number}: {reason}")

    def done(self, line: str) -> None:
        """One more of what was expected."""
        self.say(line)
        self._bar.advance(self._task)

    def step(self, step: Step) -> None:
        result = step.result
        reason = f": {result.reason}" if result.reason else ""
        self.say(f"episode {result.number} ({result.strategy}) {result.status}{reason}")
        self._bar.update(self._task, completed=step.bugs, description="making bugs")
