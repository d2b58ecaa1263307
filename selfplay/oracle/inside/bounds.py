"""The limits of the search, and the record of what it left unread. The first part of the program inside the sandbox."""

import signal
import time

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of one file, or of one unpacked content."""
MOST_UNPACKED = 1024 * 1024 * 1024
"""Bytes unpacked from archives and encodings, over all files: a small archive may unpack to any size."""
DEPTH = 24
"""How deep nested archives and encodings are opened."""
SECONDS = 240.0
MOST_NAMED = 20


class Spent(Exception):
    """The search has used up its budget."""


class Bounds:
    """The budget of one search. `unread`: what was not read, and why."""

    def __init__(self, seconds=SECONDS, size=MOST_UNPACKED):
        self.left = size
        self.seconds, self.until = seconds, time.monotonic() + seconds
        self.unread = {}

    def arm(self):
        """Raise `Spent` wherever the program is when the time is over: a library may take minutes with one content."""
        signal.signal(signal.SIGALRM, lambda *_: self.check())
        signal.setitimer(signal.ITIMER_REAL, self.until - time.monotonic() + 0.1)
        return self

    def disarm(self):
        signal.setitimer(signal.ITIMER_REAL, 0)

    def take(self, size):
        """Count unpacked bytes against the budget. Raises `Spent`."""
        self.left -= size
        if self.left < 0:
            raise Spent("more than %d MiB are packed in its archives" % (MOST_UNPACKED >> 20))
        self.check()

    def check(self):
        if time.monotonic() > self.until:
            raise Spent("the search took more than %d seconds" % self.seconds)

    def leave(self, where, why):
        """Record that `where` is not read."""
        if len(self.unread) < MOST_NAMED:
            self.unread[where] = why
