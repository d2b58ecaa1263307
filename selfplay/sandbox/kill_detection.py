"""A process inside a sandbox that was killed while the sandbox lives on: by the kernel for want of memory, by somebody
outside, or by its own neighbours. From here they look alike; only another run can tell."""

import signal
import time
from collections.abc import Callable

from selfplay.sandbox.protocol import Backend, Cause, Completed, Limits, Sandbox, SandboxLost, World

PAUSES = (0.0, 0.5, 1.0, 2.0)
"""Seconds before each try of what is killed. One that comes back is believed after the last of them."""
CONTROLS = 3
"""How often a program that does nothing must live through as much time as what was killed."""
LEAST_SECONDS, MOST_SECONDS = 0.5, 10.0
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""The exit code of a process that was killed, and that of a shell whose last command was."""


class ProgramKilled(SandboxLost):
    """A program that kills nothing itself was killed in a sandbox, which is then worth nothing more."""


def was_killed(done: Completed) -> bool:
    """Whether a SIGKILL that was not ours ended the command, or the last program of a shell."""
    return done.exit_code in KILLED and not done.timed_out


def unless_killed(done: Completed, program: str) -> Completed:
    """`done`, of a program of ours. Raises `ProgramKilled` when it was killed."""
    if was_killed(done):
        raise ProgramKilled(f"{program} was killed in its sandbox")
    return done


def believed(start: Callable[[], Completed], backend: Backend, world: World, limits: Limits) -> Completed:
    """The result of a command that `start` runs in a fresh sandbox each time: of a killed one only when it is killed
    every time, and others are not. Raises `SandboxLost` where they are."""
    for pause in PAUSES:
        time.sleep(pause)
        done = start()
        if not was_killed(done):
            return done
    refuse_dangerous_place(backend, world, limits, done.seconds)
    return done


def believed_here(sandbox: Sandbox, start: Callable[[], Completed], tries: int = len(PAUSES)) -> Completed:
    """As `believed`, for a command that may be started again in the same sandbox."""
    for pause in PAUSES[:tries]:
        time.sleep(pause)
        done = start()
        if not was_killed(done):
            return done
    _refuse_dangerous(sandbox, done.seconds)
    return done


def refuse_dangerous_place(backend: Backend, world: World, limits: Limits, seconds: float) -> None:
    """Whether something kills here: a program that does nothing must live as long, several times over.

    Raises `SandboxLost` when it is killed: what was killed beside it need not have done it itself."""
    with backend.open(world, limits) as sandbox:
        _refuse_dangerous(sandbox, seconds)


def _refuse_dangerous(sandbox: Sandbox, seconds: float) -> None:
    lasting = min(max(seconds, LEAST_SECONDS), MOST_SECONDS)
    for _ in range(CONTROLS):
        done = sandbox.run(["bash", "-c", f"sleep {lasting:.2f} & wait $!"], timeout=lasting + MOST_SECONDS)
        if done.exit_code != 0:
            raise SandboxLost("programs are killed here that do nothing", cause=Cause.OUTSIDE)
