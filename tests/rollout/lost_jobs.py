"""Jobs that lose their sandbox, played in this process by the rules about lost sandboxes."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from selfplay.errors import SelfplayError
from selfplay.rollout.retries import Retries
from selfplay.rollout.scheduler import each_of, many
from selfplay.sandbox import SandboxError, SandboxLost, retry

Play = Callable[[int], Awaitable[str]]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSE", 0.0)


def aside(job: int, error: SelfplayError) -> str:
    return f"could not be played: {error.message}"


async def lives(seconds: float) -> None:
    """The idle check of a machine whose sandboxes live."""


async def dies(seconds: float) -> None:
    raise SandboxLost("died too")


def played(jobs: int, play: Play, places: int, rules: Retries[int, str]) -> dict[int, str]:
    async def main() -> dict[int, str]:
        async with aclosing(many(each_of(range(jobs)), play, places, rules)) as results:
            return {job: found async for job, found in results}

    return asyncio.run(asyncio.wait_for(main(), 30))


def losing(bad: set[int], error: SandboxError, tries: Counter[int]) -> Play:
    """Jobs of which the bad ones lose their sandbox every time."""

    async def play(job: int) -> str:
        await asyncio.sleep(0)
        tries[job] += 1
        if job in bad:
            raise error
        return "done"

    return play
