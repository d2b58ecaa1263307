"""How an agent rests: it becomes a shell, a twelfth of its size, until the byte that begins every request.

Then it becomes the agent again. An exec makes a process dumpable until it is switched off again. That is harmless,
because nothing else runs in the sandbox between two requests, and because nothing that a command could have changed is
involved: shell, interpreter and modules lie where no command can write, the program is a sealed memory file, the folder
is the root and the environment is empty. Limits, filter and the signal at the parent's death survive an exec.
"""

import posix
import sys

from selfplay.sandbox.messages import WOKEN

OPEN_FILES = 4096
SHELL = "/bin/sh"
RESTING = 'read -r line && exec "$0" "$@"'
"""On input that it cannot seek, a shell reads no byte beyond the line, and it ends when its input does. It must be
called `sh`: called `bash`, with a socket as input, it would run the `.bashrc` that a command wrote."""


def keep_only(ends: tuple[int, ...]) -> None:
    """Close every descriptor but these and the first three. No command inherits any of them."""
    first = 3
    for end in sorted(ends):
        posix.set_inheritable(end, False)
        if end > first:  # never an empty range: CPython takes one below 0 for everything
            posix.closerange(first, end)
        first = max(first, end + 1)
    posix.closerange(first, OPEN_FILES)


def rest(kept: tuple[int, ...]) -> None:
    """Become a shell until the next request. Returns only when that is not possible, and then nothing has changed."""
    posix.chdir("/")  # the last command may have left a trap in its folder
    try:
        for end in kept:
            posix.set_inheritable(end, True)
        posix.execve(SHELL, ["sh", "-c", RESTING, *sys.orig_argv[:-1], WOKEN], {})
    except OSError:
        for end in kept:
            posix.set_inheritable(end, False)
