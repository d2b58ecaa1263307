"""What the search may cost, and what it had to leave unread. The first part of the program inside the sandbox."""

import time

MOST_BYTES = 64 * 1024 * 1024
"""Of one file, or of one content that was packed."""
MOST_UNPACKED = 1024 * 1024 * 1024
"""Bytes read out of archives and encodings, over all files: a small archive may unpack to any size."""
DEPTH = 24
"""How deep archives and encodings are opened in each other."""
SECONDS = 240.0
MOST_NAMED = 20


class Spent(Exception):
    """The search may cost no more."""


class Bounds:
    """The budget of one search. `unread`: what was not read, and why."""

    def __init__(self, seconds=SECONDS, size=MOST_UNPACKED):
        self.left = size
        self.until = time.monotonic() + seconds
        self.unread = {}

    def take(self, size):
        """Count unpacked bytes. Raises `Spent`."""
        self.left -= size
        if self.left < 0:
            raise Spent("more than %d MiB are packed in its archives" % (MOST_UNPACKED >> 20))
        self.check()

    def check(self):
        if time.monotonic() > self.until:
            raise Spent("the search took more than %d seconds" % SECONDS)

    def leave(self, where, why):
        """Note what is not read."""
        if len(self.unread) < MOST_NAMED:
            self.unread[where] = why
