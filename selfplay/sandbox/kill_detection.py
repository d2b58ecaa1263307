"""Handles processes that were killed in a living sandbox: by the kernel for lack of memory, from outside, or by
neighbours inside. The result looks the same; only another run can tell."""

import signal
import time
from collections.abc import Callable

from selfplay.sandbox.protocol import Backend, Cause, Completed, Limits, Sandbox, SandboxLost, World

PAUSES = (0.0, 0.5, 1.0, 2.0)
"""Seconds before each retry of a killed command. The result counts if it is killed after the last of them, too."""
IDLE_CHECKS = 3
"""How often an idle program must survive for as long as the killed command ran."""
LEAST_SECONDS, MOST_SECONDS = 0.5, 10.0
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""The exit code of a killed process, and of a shell whose last command was killed."""


class ProgramKilled(SandboxLost):
    """A program of ours, which kills nothing itself, was killed in a sandbox; the sandbox is then unusable."""


def was_killed(done: Completed) -> bool:
    """Whether a SIGKILL, not ours, ended the command or the last program of a shell."""
    return done.exit_code in KILLED and not done.timed_out


def unless_killed(done: Completed, program: str) -> Completed:
    """Return `done`, the result of one of our programs. Raises `ProgramKilled` if it was killed."""
    if was_killed(done):
        raise ProgramKilled(f"{program} was killed in its sandbox")
    return done


def believed(start: Callable[[], Completed], backend: Backend, world: World, limits: Limits) -> Completed:
    """The result of a command that `start` runs in a fresh sandbox each time. A kill counts only if it happens every
    time and idle programs survive; if they do not, raises `SandboxLost`."""
    for pause in PAUSES:
        time.sleep(pause)
        done = start()
        if not was_killed(done):
            return done
    refuse_dangerous_place(backend, world, limits, done.seconds)
    return done


def believed_here(sandbox: Sandbox, start: Callable[[], Completed], tries: int = len(PAUSES)) -> Completed:
    """Like `believed`, for a command that may be started again in the same sandbox."""
    for pause in PAUSES[:tries]:
        time.sleep(pause)
        done = start()
        if not was_killed(done):
            return done
    _refuse_dangerous(sandbox, done.seconds)
    return done


def refuse_dangerous_place(backend: Backend, world: World, limits: Limits, seconds: float) -> None:
    """Check whether something kills processes on this machine: an idle program must survive as long, several times.

    Raises `SandboxLost` if it is killed, because then the first kill may not have been the command's own fault."""
    with backend.open(world, limits) as sandbox:
        _refuse_dangerous(sandbox, seconds)


def _refuse_dangerous(sandbox: Sandbox, seconds: float) -> None:
    lasting = min(max(seconds, LEAST_SECONDS), MOST_SECONDS)
    for _ in range(IDLE_CHECKS):
        done = sandbox.run(["bash", "-c", f"sleep {lasting:.2f} & wait $!"], timeout=lasting + MOST_SECONDS)
        if done.exit_code != 0:
            why = "an idle program was killed too: something on this machine kills processes"
            raise SandboxLost(why, cause=Cause.OUTSIDE)
