"""Freed memory goes back to the system at once.

glibc maps large blocks on their own, from a limit which it raises to 32 MB as they are freed; below it they come from
one heap, which a single tensor in the wrong place keeps from shrinking. An update allocates and frees hundreds of
tensors of 1 to 15 MB. With a fixed limit, those of an MLP go back and leave no gaps; a limit of 1 MB would leave none
at all, and cost a quarter of the time in page faults.
"""

import ctypes
import sys

MMAP_THRESHOLD = -3
"""glibc's name for the limit, in `mallopt`."""
LARGE = 8 << 20
"""Bytes from which a block is mapped on its own."""


def give_back_freed_memory() -> bool:
    """Fix glibc's limit for this process. False where there is no glibc: nothing is changed then."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL("libc.so.6").mallopt(MMAP_THRESHOLD, LARGE))
    except (OSError, AttributeError):
        return False
