"""How much memory and time reading a shared run may take, and what it may open.

Each bound on what a run holds (rows, values, bytes of a file) is on one thing; what a command keeps of all of them
together, or does with each pair of them, has no other bound than these, which the kernel keeps. So it is with names:
each is looked at where it is read, and what opens files here can open none outside of the run (`selfplay/confinement`).
"""

import faulthandler
import os
import resource
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from selfplay.confinement import confined
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.trust import BASE_MIB, hold_key, is_own, state_folder, times
from selfplay.curriculum.untrusted_sqlite import DATABASE, LARGER
from selfplay.sandbox.owners import marked

T = TypeVar("T")

MIB, STDERR = 1 << 20, 2
PROGRAM_MIB = 80
"""What our own program takes of `BASE_MIB` before it reads anything."""


SECONDS, AGAIN = 60.0, 1.0
"""Core seconds, and how soon an interrupt comes again that a library swallowed."""
STANDSTILL = 900.0
"""Seconds by the clock after which the process ends with its stack: a library that meets the bound of memory may wait
for ever, and takes no interrupt."""


class _Late(BaseException):
    """Beyond the bound of time; nothing that only expects errors catches it."""


def bounded_reading(runs: Sequence[Path], read: Callable[[], T]) -> T:
    """The value of `read`, which can open these runs and no other folder (`confined`), and, unless this user made them
    all, is limited in what it may allocate and in core seconds. For commands that only read and end. Raises
    `CurriculumError` where more is needed, and what `read` raises."""
    with bounded_memory(runs), bounded_time(runs):
        return confined_reading(runs, read)


def confined_reading(runs: Sequence[Path], read: Callable[[], T], out: Path | None = None) -> T:
    """The part of `bounded_reading` that is of what is opened, also of runs that this user made. `out`: the folder it
    may write into."""
    known = (state_folder() / "runs", state_folder() / "allowed")
    hold_key()
    with tempfile.TemporaryDirectory(prefix=marked()) as scratch:
        return confined(read, [*map(run_of, runs), *known], [Path(scratch), *([out] if out else [])])


def run_of(path: Path) -> Path:
    """The run that a bug or a trajectory lies in; the path itself if it is in none."""
    return next((one for one in (path, path.parent, path.parent.parent) if (one / DATABASE).is_file()), path)


@contextmanager
def bounded_time(runs: Sequence[Path]) -> Iterator[None]:
    """The half of `bounded_reading` that is of time. After `STANDSTILL` seconds the process ends."""
    if _all_own(runs) or threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return

    def late(*_: object) -> None:
        raise _Late

    seconds = SECONDS * times()
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
    faulthandler.dump_traceback_later(STANDSTILL * times(), exit=True, file=STDERR)
    try:
        yield
    except _Late:
        raise CurriculumError(f"{_named(runs)} takes more than {seconds:.0f} s of a core to read", LARGER) from None
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _all_own(runs: Sequence[Path]) -> bool:
    """Whether this user made all of these: a run, or a file or bug of it. A run in a run is its own maker's."""
    return all(is_own(run_of(path)) for path in runs)


def _named(runs: Sequence[Path]) -> str:
    return ", ".join(map(str, runs[:3]))


@contextmanager
def bounded_memory(runs: Sequence[Path]) -> Iterator[None]:
    """Limits what this process may allocate while it reads these runs, unless this user made them all. For commands
    that only read: the limit holds for all threads, and for processes that are started meanwhile.

    Raises `CurriculumError` where more is needed."""
    room = (BASE_MIB * times() - PROGRAM_MIB) * MIB
    if _all_own(runs):
        yield
        return
    try:
        with limited_memory(room):
            yield
    except MemoryError:
        raise CurriculumError(f"{_named(runs)} takes more than {room // MIB} MiB to read", LARGER) from None
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
