"""The application every command hangs on, and what they share: the log, exit codes, how a run's result is printed."""

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Verified bugs by self-play: point it at a repository and get a curriculum.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,  # importing rich for the help text would triple the start
)
INTERRUPTED = 130


@app.callback()
def _options(verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is going on.")] = False) -> None:
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )


def print_run(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    """The summary of a run, as JSON or as a table."""
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    from rich.console import Console

    from selfplay.report.quality import quality_report
    from selfplay.report.tables import run_report

    if "suite" in summary:  # not of a run that was killed before it had one
        Console().print(run_report(summary, out))
    Console().print(quality_report(summary))
