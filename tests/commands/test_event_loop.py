"""What a command gives one by one: stopped early, it leaves the backend as it was, and nothing running."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator

import pytest

from selfplay.commands.event_loop import EventLoop, in_parallel, iterate
from selfplay.sandbox import Backend, MachineError, World


def echo(job: int, lease: Backend) -> bytes:
    with lease.open(World()) as sandbox:
        return sandbox.run(f"sleep {0 if job == 0 else 60}; echo {job}", timeout=90).stdout


def test_an_iterator_that_is_left_early_leaves_the_backend_open(backend: Backend) -> None:
    with backend.open(World()) as neighbour:
        started = time.monotonic()
        results = in_parallel(range(4), echo, 2, backend)
        assert next(results) == (0, b"0\n")
        results.close()
        assert time.monotonic() - started < 30  # the commands that ran were ended, not waited for
        assert neighbour.run("echo alive", timeout=10).stdout == b"alive\n"
    assert dict(in_parallel([0], echo, 1, backend)) == {0: b"0\n"}


def test_an_error_between_two_results_does_too(backend: Backend) -> None:
    with backend.open(World()) as neighbour:
        results = in_parallel(range(2), echo, 2, backend)
        with pytest.raises(RuntimeError, match="disk"):
            for _ in results:
                results.throw(RuntimeError("disk full"))
        assert neighbour.run("echo alive", timeout=10).stdout == b"alive\n"


def test_what_a_job_raises_reaches_the_caller(backend: Backend) -> None:
    def fails(job: int, lease: Backend) -> None:
        raise ValueError(f"job {job}")

    with pytest.raises(ValueError, match="job 3"):
        list(in_parallel([3], fails, 1, backend))


def test_a_job_whose_sandbox_is_lost_is_done_again(backend: Backend) -> None:
    tries: list[int] = []

    def loses(job: int, lease: Backend) -> str:
        tries.append(job)
        with lease.open(World()) as sandbox:
            if len(tries) == 1:
                sandbox.close()
                raise MachineError("lost")
            return sandbox.run("echo there", timeout=10).text

    assert list(in_parallel([5], loses, 1, backend)) == [(5, "there\n")]
    assert tries == [5, 5]


def test_an_interrupt_between_a_task_and_its_loop_ends_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """`asyncio.Runner` makes the task, then takes over SIGINT: one that comes between the two is raised at once, and
    the task is left in the loop."""
    ended, real = list[str](), signal.getsignal

    async def values() -> AsyncGenerator[int, None]:
        try:
            for number in range(9):
                yield number
                await asyncio.sleep(0)
        finally:
            ended.append("closed")

    def interrupted(number: int) -> object:
        monkeypatch.setattr(signal, "getsignal", real)
        raise KeyboardInterrupt

    found = iterate(values())
    assert next(found) == 0
    monkeypatch.setattr(signal, "getsignal", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert ended == ["closed"]


def test_an_interrupt_before_the_loop_counts_interrupts_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio's runner sets its handler, then its count of interrupts to 0; one may come between the two."""
    was, sent = signal.signal, []

    def set_and_interrupted(number: int, handler: object) -> object:
        before = was(number, handler)  # type: ignore[arg-type]  # as the runner gives it
        if not sent:
            sent.append(number)
            signal.raise_signal(signal.SIGINT)
        return before

    with EventLoop() as loop:
        loop.run(asyncio.sleep(0))
        monkeypatch.setattr(signal, "signal", set_and_interrupted)
        with pytest.raises(KeyboardInterrupt):
            loop.run(asyncio.sleep(60))
    assert sent == [signal.SIGINT]


ENDED = """
import asyncio, os, signal, sys, time
from selfplay.cli.app import handle_interrupts
from selfplay.commands.event_loop import EventLoop, iterate
handle_interrupts()

async def values():
    try:
        yield 1
        print("ready", flush=True)
        await asyncio.sleep(60)
    finally:
        for _ in range(10):
            await asyncio.sleep(0.05)
        time.sleep(0.2)
        print("closed", flush=True)

for _ in iterate(values()):
    pass
"""


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("pause", [0.0, 0.02, 0.3, 0.65])
def test_a_second_interrupt_soon_after_is_the_same_one(first: int, second: int, pause: float) -> None:
    """What was played is ended in order, however many signals say so at once."""
    with subprocess.Popen(
        [sys.executable, "-c", ENDED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.send_signal(first)
        time.sleep(pause)
        process.send_signal(second)
        out, err = process.communicate(timeout=30)
    assert out == "closed\n"
    assert err.count("KeyboardInterrupt") >= 1 and "ignored" not in err and "destroyed" not in err
    assert process.returncode == -signal.SIGINT
