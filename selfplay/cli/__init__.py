"""The `selfplay` command: parse, call one function, show progress. Heavy imports wait until a command needs them."""

import sys

from selfplay.cli import curriculum, solve, bugs, trajectories, model, image, machine  # noqa: F401  # isort: skip  (as --help shows them)
from selfplay.cli.app import app
from selfplay.errors import SelfplayError
from selfplay.plain import printable

__all__ = ["app", "main"]


def main() -> None:
    """Entry point: a `SelfplayError` is printed with its hint and exits 2."""
    try:
        app()
    except SelfplayError as error:
        print(f"selfplay: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)
