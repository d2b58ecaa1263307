"""Programs of this machine that run beside the sandboxes, started in one way: nothing in the folder a user stands in is
an input of them, since that may be a stranger's checkout.

They start in `/`, with an empty standard input, and are looked for in the absolute folders of PATH alone; Python gets
neither the current folder nor that of a script on its path. The linter refuses `subprocess` everywhere else.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO

Failed = subprocess.SubprocessError
"""A program that took too long, or failed where it must not."""
TimedOut = subprocess.TimeoutExpired
Process = subprocess.Popen[bytes]
Completed = subprocess.CompletedProcess[bytes]
PYTHON = (sys.executable, "-P")
"""This interpreter, without the current folder on its path."""
PIPE = subprocess.PIPE
Stream = int | IO[bytes] | None
Word = str | os.PathLike[str]


def find(program: str) -> str | None:
    """Where a program is, in the absolute folders of PATH; None where it is in none."""
    return shutil.which(program, path=_path(os.environ))


def run(
    command: Sequence[Word], *, timeout: float | None = None, check: bool = False, env: Mapping[str, str] | None = None
) -> Completed:
    """A program's exit status and output. Raises `Failed`, also for a failure where `check` is set, and `OSError` for a
    program that cannot be started."""
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
    """A program that goes on. `cwd`: a folder of ours. Raises `OSError` when it cannot be started."""
    return subprocess.Popen(
        command, cwd=cwd, env=_clean(env), stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=pass_fds,
        start_new_session=new_session,
    )  # fmt: skip


def _clean(env: Mapping[str, str] | None) -> dict[str, str]:
    """The environment, this process's if none is given, with the absolute folders of its PATH."""
    given = dict(os.environ if env is None else env)
    return {**given, "PATH": _path(given)} if "PATH" in given else given


def _path(env: Mapping[str, str]) -> str:
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(one for one in folders if one.startswith("/"))
