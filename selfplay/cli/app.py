"""The application that all commands belong to, and what they share: the log, the version, interrupts, exit codes."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from selfplay.exit_codes import INTERRUPTED
from selfplay.plain_text import told
from selfplay.version import VERSION

SOON = 0.01
"""Seconds until an interrupt that was swallowed comes again."""


def end_as_by_interrupt(number: int, frame: FrameType | None) -> None:
    """A handler of SIGTERM (of a scheduler, of a container that stops) that does what Ctrl-C does."""
    at_interrupt = signal.getsignal(signal.SIGINT)  # asyncio's own, while an event loop runs
    if not callable(at_interrupt):  # ignored, by a job in the background of a shell: it is raised where the loop stands
        raise KeyboardInterrupt
    at_interrupt(signal.SIGINT, frame)


def handle_interrupts() -> None:
    """Let SIGTERM end this process, and not its forks, as Ctrl-C does, no interrupt be swallowed, and the ends of
    programs be told. Only the main thread may, and once is enough."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is end_as_by_interrupt:
        return
    signal.signal(signal.SIGTERM, end_as_by_interrupt)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ignores it reads every program's end as 0
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
    sys.unraisablehook = _interrupt_again


def _interrupt_again(ignored: "sys.UnraisableHookArgs") -> None:
    """Where nothing can be raised (a `__del__`, a text made for Rust) Python goes on after an interrupt, and whatever
    was under way is wrong for good: a pattern that pydantic was reading once became "<unprintable str object>", and
    every bug was invalid. The interrupt comes again, when this function has returned."""
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    again = threading.Timer(SOON, os.kill, (os.getpid(), signal.SIGTERM))
    again.daemon = True
    again.start()


class Interruptible(TyperGroup):
    """The group of all commands. Ctrl-C ends a command that says nothing more about it with one line, wrong values are
    told in our words, and an empty text is no value: as a path it would be the folder one stands in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _refuse_empty_in(self)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("selfplay: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except typer.BadParameter as error:
            error.message = _in_our_words(error)
            raise


def _in_our_words(error: typer.BadParameter) -> str:
    """What is wrong with an option's value, where Typer says it in pydantic's words."""
    from pydantic import ValidationError

    from selfplay.options import fault

    return fault(error.__cause__, None)[1] if isinstance(error.__cause__, ValidationError) else error.message


def _refuse_empty_in(command: Any) -> None:
    """Make every parameter of the commands below refuse an empty text."""
    for inner in getattr(command, "commands", {}).values():
        _refuse_empty_in(inner)
    for parameter in command.params:
        parameter.process_value = _refusing_empty(parameter, parameter.process_value)


def _refusing_empty(parameter: Any, process: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What makes the value of a parameter from its text, which first refuses a text of blanks alone. Later would be too
    late: an empty text is then a path like any other."""

    def checked(context: Any, value: Any) -> Any:
        values = value if isinstance(value, list | tuple) else (value,)
        if any(isinstance(one, str) and not one.strip() for one in values):
            raise typer.BadParameter("is empty; is a variable of your shell not set?", context, parameter)
        return process(context, value)

    return checked


app = typer.Typer(
    cls=Interruptible,
    help="Verified bugs by self-play: point it at a repository and get a curriculum.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # importing rich for the help text would triple the start
)


@contextmanager
def resumable() -> Iterator[None]:
    """Ctrl-C ends the command with a line and the exit code of an interrupt; the same command resumes."""
    try:
        yield
    except KeyboardInterrupt:
        print("selfplay: interrupted; the same command resumes", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"selfplay {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is going on.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LogLines("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.ERROR, handlers=[handler])
    if verbose:  # what libraries say may hold a password: httpx logs whole URLs
        logging.getLogger("selfplay").setLevel(logging.INFO)


class _LogLines(logging.Formatter):
    """Log lines whose text, and whose errors' text, may be a stranger's."""

    def format(self, record: logging.LogRecord) -> str:
        return told(super().format(record))
