"""How much memory reading a shared run may take.

Each bound on what a run holds (rows, values, bytes of a file) is on one thing; what a command keeps of all of them
together has no other bound than this one, which the kernel keeps.
"""

import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.trust import BASE_MIB, is_own, times
from selfplay.curriculum.untrusted_sqlite import LARGER

MIB = 1 << 20
PROGRAM_MIB = 80
"""What our own program takes of `BASE_MIB` before it reads anything."""


@contextmanager
def bounded_memory(runs: Sequence[Path]) -> Iterator[None]:
    """Limits what this process may allocate while it reads these runs, unless this user made them all. For commands
    that only read: the limit holds for all threads, and for processes that are started meanwhile.

    Raises `CurriculumError` where more is needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    room = (BASE_MIB * times() - PROGRAM_MIB) * MIB
    most = _taken() + room
    if all(map(is_own, runs)) or (soft != resource.RLIM_INFINITY and soft <= most):
        yield
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    except MemoryError:
        raise CurriculumError(
            f"{', '.join(map(str, runs[:3]))} takes more than {room // MIB} MiB to read", LARGER
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _taken() -> int:
    """The bytes that this process has allocated."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
