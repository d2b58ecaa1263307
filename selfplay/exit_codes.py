"""How commands end, besides 0 and 1. After a signal: 128 and its number, as shell tools do."""

REFUSED = 2
"""The user can mend it, and is told how."""
INTERRUPTED = 130
READER_GONE = 141
"""Whoever read the output closed the pipe."""
