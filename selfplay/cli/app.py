"""The application that all commands belong to, and what they share: the log, the version, exit codes."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from selfplay.version import VERSION

INTERRUPTED = 130


class Interruptible(TyperGroup):
    """Ctrl-C ends a command that says nothing more about it with one line; wrong values are told in our words."""

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
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
