"""Returns freed memory to the system.

glibc maps blocks above a limit on their own, and raises the limit to 32 MB as they are freed. Smaller blocks come from
the heap of their thread, which a single tensor in the wrong place keeps from shrinking. An update allocates and frees
hundreds of tensors of 1 to 15 MB. With a fixed limit an MLP's tensors are returned at once and leave no gaps; a limit
of 1 MB would leave no gaps at all but cost a quarter of the time in page faults. What is left in the gaps goes back
after each update, so that engine and sandboxes have it while the next episodes are played.
"""

import ctypes
import sys

MMAP_THRESHOLD = -3
"""glibc's name for the limit, in `mallopt`."""
LARGE = 8 << 20
"""Blocks of at least this many bytes are mapped on their own."""


def map_large_blocks() -> bool:
    """Fix glibc's limit for this process. Returns False, and does nothing, without glibc."""
    return _asked("mallopt", MMAP_THRESHOLD, LARGE)


def return_freed_memory() -> bool:
    """Return the free pages of all heaps. Returns False if there are none, or without glibc."""
    return _asked("malloc_trim", 0)


def _asked(function: str, *given: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(getattr(ctypes.CDLL("libc.so.6"), function)(*given))
    except (OSError, AttributeError):
        return False
