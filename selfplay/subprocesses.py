"""Starts programs on the host, beside the sandboxes, so that no file in the user's current folder affects them: that
folder may be an untrusted checkout.

They start in `/`, with an empty standard input, and are searched only in the absolute folders of PATH; Python's path
contains neither the current folder nor a script's folder. The linter forbids `subprocess` in all other modules.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

Failed = subprocess.SubprocessError
"""A program that timed out, or failed although it must not."""
TimedOut = subprocess.TimeoutExpired
Process = subprocess.Popen[bytes]
Completed = subprocess.CompletedProcess[bytes]
PYTHON = (sys.executable, "-P")
"""This interpreter, without the current folder on its path."""
PIPE, NOWHERE = subprocess.PIPE, subprocess.DEVNULL
Stream = int | IO[bytes] | None
Word = str | os.PathLike[str]


def find(program: str) -> str | None:
    """The path of a program in the absolute folders of PATH; None if it is in none of them."""
    return shutil.which(program, path=_path(os.environ))


def run(
    command: Sequence[Word], *, timeout: float | None = None, check: bool = False, env: Mapping[str, str] | None = None
) -> Completed:
    """A program's exit status and output. Raises `Failed` on a timeout and, with `check`, on a failure, and `OSError`
    when the program cannot be started."""
    return subprocess.run(
        command, capture_output=True, stdin=subprocess.DEVNULL, cwd="/", env=_clean(env), timeout=timeout, check=check
    )


def start(
    command: Sequence[Word],
    *,
    cwd: Word = "/",
    env: Mapping[str, str] | None = None,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = subprocess.DEVNULL,
    stderr: Stream = None,
    pass_fds: Sequence[int] = (),
    new_session: bool = False,
) -> Process:
    """Start a program without waiting for it. `cwd`: a folder of ours. Raises `OSError` when it cannot be started."""
    return subprocess.Popen(
        command, cwd=cwd, env=_clean(env), stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=pass_fds,
        start_new_session=new_session,
    )  # fmt: skip


def can_start(number: int) -> bool:
    """Whether this machine starts so many programs at once. It is asked, since what a program says that failed may be
    the words of a stranger: a server's, or the name of a file."""
    started = list[Process]()
    try:
        for _ in range(number):
            started.append(start(["cat"], stdin=PIPE))
    except BlockingIOError:
        return False
    finally:
        for one in started:
            one.communicate()
    return True


def safe_path() -> None:
    """What starts in the user's folder through a library (vLLM's `python -m`, a child of multiprocessing) imports
    nothing from there either: a module of a checkout would run."""
    os.environ["PYTHONSAFEPATH"] = "1"
    if given := os.environ.get("PYTHONPATH"):  # of `$PYTHONPATH:/x` the first part, if empty, is the current folder
        os.environ["PYTHONPATH"] = os.pathsep.join(one for one in given.split(os.pathsep) if one.startswith("/"))


def stand(folder: str) -> None:
    """Make a process of a cluster work where its driver does, if it sees that folder: relative paths are the
    driver's."""
    safe_path()
    with suppress(OSError):
        os.chdir(folder)


def _clean(env: Mapping[str, str] | None) -> dict[str, str]:
    """The environment (by default this process's), with only the absolute folders of its PATH."""
    given = dict(os.environ if env is None else env)
    return {**given, "PATH": _path(given)} if "PATH" in given else given


def _path(env: Mapping[str, str]) -> str:
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(one for one in folders if one.startswith("/"))
