"""A call that can open a few folders and nothing else of this machine, for what reads strangers' files by path.

SQLite, and whatever loads a model, open files that the file before them names. Each name that is known is refused where
it is read; this is for those that are not. A thread can give up rights for good, so the call has one of its own, and
what it raises is raised here:

landlock        what lies beneath a few folders can be opened, and nothing else
refused_calls   no socket is made, and no mode, owner, time or attribute is changed by a path, which Landlock lets pass

It is the second line: without a kernel that has Landlock (5.13 or later, not switched off) the call is made as it is,
and `selfplay doctor` says so. That a file exists, and how large it is, can be asked of any. The system calls are made
by ctypes: the bindings that the index has are young, and this is no place for a stranger's package.
"""

import contextvars
import ctypes
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from selfplay.confinement.landlock import landlock_version, leave_folders
from selfplay.confinement.refused_calls import refuse_calls

T = TypeVar("T")
TRIES, WAIT = 20, 0.1
"""How often a call is interrupted for which nobody waits, and the seconds between."""
_SCRATCH: contextvars.ContextVar[Path | None] = contextvars.ContextVar("scratch", default=None)


def scratch() -> Path | None:
    """The folder for temporary files of the confined call that this is part of; None: the system's own."""
    return _SCRATCH.get()


def confined(call: Callable[[], T], read: Sequence[Path], write: Sequence[Path] = ()) -> T:
    """The value of `call`, which can read what lies in `read` and in Python's own folders, write in `write` alone and
    reach no network. Its `scratch` is the first of these. Raises what it raises, and `OSError` if the kernel refuses.
    """
    if not landlock_version():
        return call()
    done: Future[T] = Future()
    context = contextvars.copy_context()
    context.run(_SCRATCH.set, next(iter(write), None))
    thread = threading.Thread(target=context.run, args=(_answer, done, call, read, write), daemon=True)
    thread.start()
    try:
        return done.result()
    finally:
        if not done.done():  # this thread was interrupted, and will clean up
            _interrupt(thread)


class _Interrupted(BaseException):
    """Ends a call for which nobody waits any more."""


def _interrupt(thread: threading.Thread) -> None:
    """End what runs in the thread, and wait until it has ended, or for some seconds where a library holds it."""
    for _ in range(TRIES):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Interrupted))
        thread.join(WAIT)
        if not thread.is_alive():
            return


def _answer(done: Future[T], call: Callable[[], T], read: Sequence[Path], write: Sequence[Path]) -> None:
    try:
        leave_folders(read, write)
        refuse_calls()
        done.set_result(call())
    except BaseException as error:  # also an exit and an interrupt: they belong to whoever waits
        done.set_exception(error)
