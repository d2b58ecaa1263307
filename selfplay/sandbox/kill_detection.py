"""Handles processes that were killed in a living sandbox: by the kernel for lack of memory, from outside, or by
neighbours inside. The result looks the same; only another run can tell."""

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from selfplay.sandbox.errors import Cause, SandboxLost
from selfplay.sandbox.kernel_text import kernel_text
from selfplay.sandbox.machine import own_groups
from selfplay.sandbox.protocol import Backend, Completed, Limits, Sandbox, World

PAUSES = (0.0, 0.5, 1.0, 2.0)
"""Seconds before each retry of a killed command. The result counts if it is killed after the last of them, too."""
_KILLS = re.compile(r"^oom_kill ([0-9]+)$", re.MULTILINE)
IDLE_CHECKS = 3
"""How often an idle program must survive for as long as the killed command ran."""
LEAST_SECONDS, MOST_SECONDS = 0.5, 10.0
IDLE_SECONDS, BURNT_SECONDS = 0.5, 0.1
"""Core seconds of a program that only waited, and those that show whether a core is to be had."""


class ProgramKilled(SandboxLost):
    """A program of ours, which kills nothing itself, was killed in a sandbox; the sandbox is then unusable."""


def starved(timed_out: bool, cpu_seconds: float, limit: float) -> bool:
    """Whether a command met its limit by the clock and hardly used a core: it waited, and on a machine that stands
    still so does every command."""
    return timed_out and cpu_seconds < limit / 4


def unless_killed(done: Completed, program: str) -> Completed:
    """Return `done`, the result of one of our programs. Raises `ProgramKilled` if it was killed; its cause is a limit
    where the kernel says so, as when what ran before left shared memory behind, which belongs to no process."""
    if done.was_killed and done.over_memory:
        raise ProgramKilled(f"{program} was killed in its sandbox, whose memory is used up", cause=Cause.LIMIT)
    if done.was_killed:
        raise ProgramKilled(f"{program} was killed in its sandbox")
    return done


def unless_starved(done: Completed, program: str, limit: float) -> Completed:
    """Return `done`, the result of a program of ours that had `limit` seconds. Raises `ProgramKilled` if it spent them
    without a core. If it never asked for one, and the machine has a whole one to give, its cause is a limit: it waited
    for what is in the sandbox, and does so again."""
    if starved(done.timed_out, done.cpu_seconds, limit):
        said = f"{program} did not get a core within {limit:.0f} s"
        waited = done.cpu_seconds < IDLE_SECONDS and _has_a_core()
        raise ProgramKilled(said, cause=Cause.LIMIT if waited else Cause.UNKNOWN)
    return done


def _has_a_core() -> bool:
    """Whether this thread gets most of a core, for a moment."""
    began, used = time.monotonic(), time.thread_time()
    while time.thread_time() - used < BURNT_SECONDS and time.monotonic() - began < 2 * BURNT_SECONDS:
        pass
    return time.thread_time() - used >= BURNT_SECONDS


def undisturbed(done: Completed, program: str, limit: float) -> Completed:
    """Return `done`, the result of a program of ours that had `limit` seconds. Raises `ProgramKilled` if it was killed
    or got no core: neither says anything about what it looked at."""
    return unless_starved(unless_killed(done, program), program, limit)


def kills_around() -> int:
    """How many processes of this process's own control group the kernel has killed for want of memory, whoever's limit
    it was. Where a sandbox has no group of its own nothing else says so, and an idle program is never the one that it
    chooses. Of the whole machine where no group tells: there a neighbour's limit counts, too. 0 where nothing does."""
    with suppress(OSError):
        groups = own_groups(kernel_text("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
        places = [folder / name for folder in reversed(groups) for name in ("memory.events", "memory.oom_control")]
        for place in (*places, Path("/proc/vmstat")):
            if place.exists() and (found := _KILLS.search(kernel_text(place))):
                return int(found[1])
    return 0


def refuse_want_of_memory(killed_for_memory: bool, over_memory: bool) -> None:
    """Raises `SandboxLost` if the kernel killed something for want of memory while the sandbox was within its own
    limit: it is the machine that has too little, which an idle program beside it does not notice."""
    if killed_for_memory and not over_memory:
        why = "this machine ran out of memory: the sandbox was within its own limit"
        raise SandboxLost(why, "Fewer --workers, or more memory for this container.", Cause.OUTSIDE)


def believed(start: Callable[[], Completed], backend: Backend, world: World, limits: Limits) -> Completed:
    """The result of a command that `start` runs in a fresh sandbox each time. A kill counts only if it happens every
    time and is one for the sandbox's memory, or idle programs survive; if they do not, raises `SandboxLost`."""
    done = _not_killed_once(start, PAUSES)
    refuse_want_of_memory(done.was_killed and done.killed_for_memory, done.over_memory)
    if done.was_killed and not done.over_memory:
        refuse_dangerous_place(backend, world, limits, done.seconds)
    return done


def believed_here(sandbox: Sandbox, start: Callable[[], Completed], tries: int = len(PAUSES)) -> Completed:
    """Like `believed`, for a command that may be started again in the same sandbox."""
    done = _not_killed_once(start, PAUSES[:tries])
    refuse_want_of_memory(done.was_killed and done.killed_for_memory, done.over_memory)
    if done.was_killed and not done.over_memory:
        _refuse_dangerous(sandbox, done.seconds)
    return done


def _not_killed_once(start: Callable[[], Completed], pauses: Sequence[float]) -> Completed:
    """The first result that is no kill; the last one if all are."""
    for pause in pauses:
        time.sleep(pause)
        done = start()
        if not done.was_killed:
            break
    return done


def refuse_dangerous_place(backend: Backend, world: World, limits: Limits, seconds: float) -> None:
    """Check whether something kills processes on this machine: an idle program must survive as long, several times.

    Raises `SandboxLost` if it is killed, because then the first kill may not have been the command's own fault."""
    with backend.open(world, limits) as sandbox:
        _refuse_dangerous(sandbox, seconds)


def _refuse_dangerous(sandbox: Sandbox, seconds: float) -> None:
    lasting = min(max(seconds, LEAST_SECONDS), MOST_SECONDS)
    for _ in range(IDLE_CHECKS):
        command = ["bash", "-c", f"sleep {lasting:.2f} & wait $!"]  # of ours: a repository may bring a `sleep`
        done = sandbox.run(command, timeout=lasting + MOST_SECONDS, cwd="/", env=sandbox.own_env)
        if done.was_killed and not done.over_memory:  # any other end is of what the sandbox holds
            why = "an idle program was killed too: something on this machine kills processes"
            raise SandboxLost(why, cause=Cause.OUTSIDE)
