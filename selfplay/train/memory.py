"""Returns freed memory to the system at once.

glibc maps blocks above a limit on their own, and raises the limit to 32 MB as they are freed. Smaller blocks come from
one heap, which a single tensor in the wrong place keeps from shrinking. An update allocates and frees hundreds of
tensors of 1 to 15 MB. With a fixed limit an MLP's tensors are returned and leave no gaps; a limit of 1 MB would leave
no gaps at all but cost a quarter of the time in page faults.
"""

import ctypes
import sys

MMAP_THRESHOLD = -3
"""glibc's name for the limit, in `mallopt`."""
LARGE = 8 << 20
"""Blocks of at least this many bytes are mapped on their own."""


def give_back_freed_memory() -> bool:
    """Fix glibc's limit for this process. Returns False, and does nothing, without glibc."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL("libc.so.6").mallopt(MMAP_THRESHOLD, LARGE))
    except (OSError, AttributeError):
        return False
