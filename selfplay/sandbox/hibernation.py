"""A resting agent: it becomes a shell, a twelfth of its size, until the byte that begins every request arrives.

Then it becomes the agent again. An exec makes a process dumpable until that is switched off again. This is harmless:
nothing else runs in the sandbox between two requests, and commands could not change anything that is involved. Shell,
interpreter and modules lie where no command can write, the program is a sealed memory file, the folder is the root and
the environment is empty. Limits, filter and the signal at the parent's death survive an exec.
"""

import posix
import sys

from selfplay.sandbox.messages import WOKEN

OPEN_FILES = 4096
SHELL = "/bin/sh"
RESTING = 'read -r line && exec "$0" "$@"'
"""On unseekable input, a shell reads no byte beyond the line, and it ends when its input does. It must be called `sh`:
called `bash`, with a socket as input, it would run a `.bashrc` written by a command."""


def keep_only(ends: tuple[int, ...]) -> None:
    """Close every descriptor except these and the first three. No command inherits any of them."""
    first = 3
    for end in sorted(ends):
        posix.set_inheritable(end, False)
        if end > first:  # not an empty range: to CPython that may mean all
            posix.closerange(first, end)
        first = max(first, end + 1)
    posix.closerange(first, OPEN_FILES)


def rest(kept: tuple[int, ...]) -> None:
    """Become a shell until the next request. Returns only if that is not possible, without any change."""
    posix.chdir("/")  # the last command may have prepared its folder
    try:
        for end in kept:
            posix.set_inheritable(end, True)
        posix.execve(SHELL, ["sh", "-c", RESTING, *sys.orig_argv[:-1], WOKEN], {})
    except OSError:
        for end in kept:
            posix.set_inheritable(end, False)
