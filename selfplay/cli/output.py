"""Prints commands' results on standard output: pages for people, JSON for programs. No other module prints there.

When the reader closes the pipe (`selfplay show RUN | head`), the command ends silently, as shell tools do: exit code
141, which is 128 plus the number of SIGPIPE.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from selfplay.exit_codes import READER_GONE
from selfplay.plain_text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

UNBOUNDED = 100_000
"""Columns: no cell is cut or folded."""


def print_line(line: str) -> None:
    """Print text and flush it; nothing in it controls the terminal."""
    try:
        print(printable(line), flush=True)
    except BrokenPipeError:
        reader_gone()


def print_json(value: Any) -> None:
    """A value for programs, written piece by piece, since a large text would take several times its size. ASCII JSON
    escapes everything that controls a terminal."""
    try:
        for piece in json.JSONEncoder(indent=2).iterencode(value):
            sys.stdout.write(piece)
        print(flush=True)
    except BrokenPipeError:
        reader_gone()


def print_page(page: "RenderableType") -> None:
    """A page for people."""
    from selfplay.report.console import SafeConsole

    class Pages(SafeConsole):
        def on_broken_pipe(self) -> None:
            reader_gone()

    Pages(width=_width()).print(page)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        reader_gone()


def _width() -> int | None:
    """How wide a page may be: in a pipe, whose reader wants whole lines, as wide as it is, if COLUMNS says nothing
    else. None: as wide as the terminal."""
    return None if sys.stdout.isatty() or os.environ.get("COLUMNS") else UNBOUNDED


def print_either(as_json: bool, value: Any, page: "Callable[[], RenderableType]") -> None:
    """The value for programs, or the page for people."""
    if as_json:
        print_json(value)
    else:
        print_page(page())


def print_run(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    """The summary of a run."""
    from selfplay.report.run import run_page

    print_either(as_json, summary, lambda: run_page(summary, out))


def reader_gone() -> NoReturn:
    """End like a program whose reader closed the pipe. Buffered output is discarded."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(READER_GONE)
