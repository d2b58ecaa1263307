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
    room = (BASE_MIB * times() - PROGRAM_MIB) * MIB
    if all(any(map(is_own, (path, path.parent, path.parent.parent))) for path in runs):  # a run, or a file or bug of it
        yield
        return
    try:
        with limited_memory(room):
            yield
    except MemoryError:
        raise CurriculumError(
            f"{', '.join(map(str, runs[:3]))} takes more than {room // MIB} MiB to read", LARGER
        ) from None
    except RuntimeError as error:
        if "new thread" not in str(error):
            raise
        raise CurriculumError(f"no thread can be started within {room // MIB} MiB", LARGER) from error


@contextmanager
def limited_memory(room: int) -> Iterator[None]:
    """Limits what this process may allocate to so many bytes more; beyond it Python raises `MemoryError`. A library in
    C may end the process instead, so nothing but reading belongs here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _taken() + room
    if soft != resource.RLIM_INFINITY and soft <= most:
        yield
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _taken() -> int:
    """The bytes that this process has allocated."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
