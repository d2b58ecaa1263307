"""The command's entry: `selfplay`, and `python -m selfplay` without its script.

Modules load for a tenth of a second, and Ctrl-C says no more then than later.
"""

import sys

INTERRUPTED = 130


def main() -> None:
    """Load the command and run it."""
    try:
        from selfplay.cli import main as command

        command()
    except KeyboardInterrupt:
        print("selfplay: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    # Python puts the current folder first in the path here, and it may be a stranger's checkout, with modules named as
    # ours.
    if not sys.flags.safe_path:
        del sys.path[0]
    main()
