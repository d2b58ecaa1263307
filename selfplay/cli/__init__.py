"""The `selfplay` command: parse, call one function, show progress. Heavy imports wait until a command needs them."""

import logging
import re
import sys
import traceback
from io import TextIOWrapper
from typing import TextIO

from selfplay.cli import curriculum, solve, evaluate, credit, bugs, export, logs, importing, show, report, trajectories  # noqa: F401  # isort: skip  (as --help shows them)
from selfplay.cli import sft, learn, train, serve_env, model, image, machine  # noqa: F401  # isort: skip
from selfplay.cli.app import app, handle_interrupts
from selfplay.cli.failures import explained
from selfplay.exit_codes import REFUSED
from selfplay.formatting import shortened
from selfplay.owned_folders import refuse_temporary_of_another
from selfplay.plain_text import told
from selfplay.subprocesses import safe_path

__all__ = ["app", "main"]
LONGEST = 1000
"""The most characters of one line of an error: longer lines come from untrusted text and do not help."""


def main() -> None:
    """Entry point: errors that a user can mend are printed with their hint and exit 2."""
    handle_interrupts()
    safe_path()
    _tolerant(sys.stdout, sys.stderr)
    try:
        refuse_temporary_of_another()
        app()
    except Exception as error:
        known = explained(error)
        if known is None:  # a fault of ours; its text may be a stranger's
            print(told(traceback.format_exc()), file=sys.stderr)
            sys.exit(1)
        logging.getLogger(__name__).info("where it came from", exc_info=error)
        print(f"selfplay: {told(_bounded(str(known)))}", file=sys.stderr)
        sys.exit(REFUSED)


def _tolerant(*streams: TextIO) -> None:
    """A terminal that is not of UTF-8 shows a mark for what it lacks: a stranger's names may hold any letter."""
    for stream in streams:
        if isinstance(stream, TextIOWrapper):  # not what stands in for one
            stream.reconfigure(errors="replace")


def _bounded(said: str) -> str:
    """A message with its long words, which are paths, and its long lines cut."""
    lines = (re.sub(r"\S+", lambda word: shortened(word[0]), line) for line in said.split("\n"))
    return "\n".join(line if len(line) <= LONGEST else f"{line[:LONGEST]}..." for line in lines)
