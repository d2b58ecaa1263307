"""The command's entry: `selfplay`, and `python -m selfplay` without its script.

Modules load for a tenth of a second, and Ctrl-C says no more then than later. A program may be started without standard
streams, or with one that cannot be written to: that is told, too, and never in a traceback.
"""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # Python puts the current folder first in the path here, and it may be a stranger's checkout, with modules named as
    # ours.
    del sys.path[0]

from selfplay.exit_codes import INTERRUPTED, READER_GONE, REFUSED


def main() -> None:
    """Load the command and run it."""
    _open_missing_streams()
    try:
        from selfplay.cli import main as command

        command()
    except KeyboardInterrupt:
        print("selfplay: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        _finish_output()


def _open_missing_streams() -> None:
    """Whatever is opened next would take the number of one that is closed, and get what is printed."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115


def _finish_output() -> None:
    """Write what is left. What cannot be written is given up: Python would say so in its own words, and end with
    120."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(READER_GONE)
        print(f"selfplay: the standard output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
