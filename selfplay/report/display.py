"""Where progress is shown: a bar on a terminal, plain lines in a pipe, both on standard error.

In a pipe, a line says when a phase begins. While nothing else is printed, further lines report the progress: after two
seconds, four, eight, and finally once a minute.
"""

import contextlib
import os
import sys
import threading
import time
from typing import Protocol

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from selfplay.exit_codes import READER_GONE
from selfplay.formatting import spoken
from selfplay.plain_text import told
from selfplay.report.console import SafeConsole

FIRST_GAP, LONGEST_GAP = 2.0, 60.0
"""Seconds without output before a pipe gets another progress line."""


class Display(Protocol):
    """Where progress is shown."""

    def begin(self, doing: str, total: int | None, completed: int = 0) -> None:
        """A phase begins; `total`: its number of steps, if known; `completed`: those that an earlier run did."""
        ...

    def line(self, text: str) -> None:
        """Show a line."""
        ...

    def page(self, page: RenderableType) -> None:
        """Show a page on a terminal; a pipe only gets lines."""
        ...

    def reached(self, completed: int) -> None:
        """Set how many steps of the phase are done."""
        ...

    def close(self) -> None: ...


def display() -> Display:
    """The display that fits standard error."""
    return Bar() if sys.stderr.isatty() else PlainLines()


class Bar:
    """A spinner and a bar below the lines, gone at the end."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        self._bar = Progress(*columns, TimeElapsedColumn(), console=SafeConsole(stderr=True), transient=True)
        self._task = self._bar.add_task("preparing", total=None)
        self._bar.start()

    def begin(self, doing: str, total: int | None, completed: int = 0) -> None:
        self._bar.reset(self._task, total=total, completed=completed, description=told(doing))

    def line(self, text: str) -> None:
        self._bar.console.print(told(text), highlight=False, markup=False)

    def page(self, page: RenderableType) -> None:
        self._bar.console.print(page)

    def reached(self, completed: int) -> None:
        self._bar.update(self._task, completed=completed)

    def close(self) -> None:
        self._bar.stop()


class PlainLines:
    """One line per event, never wrapped. A thread reports the progress of phases that print nothing for long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._begin("preparing", None, 0)
        self._printed = time.monotonic()
        self._thread = threading.Thread(target=self._remind, name="progress", daemon=True)
        self._thread.start()

    def begin(self, doing: str, total: int | None, completed: int = 0) -> None:
        with self._lock:
            self._begin(doing, total, completed)
            self._print(self._phase())

    def line(self, text: str) -> None:
        with self._lock:
            self._last = text
            self._print(text)

    def page(self, page: RenderableType) -> None:
        """Does nothing, see `Display`."""

    def reached(self, completed: int) -> None:
        with self._lock:
            self._completed = completed

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _begin(self, doing: str, total: int | None, completed: int) -> None:
        self._doing, self._total, self._completed, self._last = doing, total, completed, ""
        self._began, self._gap = time.monotonic(), FIRST_GAP

    def _phase(self) -> str:
        if self._total is None:  # then the last line shows the progress
            return f"{self._doing}: {self._last}" if self._last else self._doing
        return f"{self._doing}: {self._completed} of {self._total}"

    def _print(self, text: str) -> None:
        try:
            self._write(text)
        except BrokenPipeError:  # the reader closed the pipe (`... |& head`): end as shell tools do
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            sys.exit(READER_GONE)
        except OSError:  # the disk of a log is full: the work is worth more than what is said of it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        self._printed = time.monotonic()

    def _remind(self) -> None:
        while not self._closed.wait(FIRST_GAP / 4):
            with self._lock:
                now = time.monotonic()
                if now - self._printed < self._gap:
                    continue
                with contextlib.suppress(OSError):  # the command's own next line will report it
                    self._write(f"{self._phase()}, {spoken(now - self._began)} so far")
                self._printed = now
                self._gap = min(2 * self._gap, LONGEST_GAP)

    def _write(self, text: str) -> None:
        """The one place where text gets out: what is shown of a stranger's controls nothing."""
        print(told(text), file=sys.stderr, flush=True)
