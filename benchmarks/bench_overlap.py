"""What it gains that episodes do not wait for each other: generation and tools overlap.

`EPISODES` episodes of `TURNS` commands in real sandboxes. An engine that has `ENGINE` places, each answer taking
`SECONDS`; commands that take as long, of which `TOOLS` run at a time: so the stages take equally long. Once all wait
for each other, as where a batch is generated, then its tools are run, then the next is generated; once each episode
goes on as soon as its own command is done, as ours do. The floor is the time of one stage alone: both stages are
always busy.
`python -m benchmarks.bench_overlap [--json]`.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence

from benchmarks.bench_episodes import CHAT, SMALL, TOLD
from benchmarks.figures import Figure, Sheet, at_least, report
from selfplay.agent import EpisodeLimits, Finish, Trajectory, play_episode
from selfplay.agent.conversation import TokenConversation
from selfplay.agent.model import Sample, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.sandbox import World, open_backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers

EPISODES, TURNS = 48, 10
ENGINE = TOOLS = 8
SECONDS = 0.2


class Together:
    """Lets nobody go on before all who still play have come. `playing` None: everybody goes on at once."""

    def __init__(self, playing: int | None) -> None:
        self._playing, self._came, self._gate = playing, 0, asyncio.Event()

    async def come(self) -> None:
        if self._playing is None:
            return
        self._came += 1
        gate = self._gate
        self._open_if_all()
        await gate.wait()

    def leave(self) -> None:
        """One does not play any more."""
        if self._playing is not None:
            self._playing -= 1
            self._open_if_all()

    def _open_if_all(self) -> None:
        if self._came == self._playing:
            self._gate.set()
            self._came, self._gate = 0, asyncio.Event()


class Engine:
    """One episode's view of an engine with places. What it says is a command that takes as long as an answer."""

    name, context = "stub", 1_000_000

    def __init__(self, places: asyncio.Semaphore, together: Together) -> None:
        self._places, self._together, self._turn = places, together, 0

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        self._turn += 1
        await self._together.come()  # all tools of the turn before are done
        async with self._places:
            await asyncio.sleep(SECONDS)
        await self._together.come()  # all answers of this turn are there
        call = "submit>\n" if self._turn > TURNS else f"bash>\nsleep {SECONDS}\n"
        said = "Done." if self._turn > TURNS + 1 else f"<tool: {call}</tool>"
        ids = (*map(ord, said), 256)
        return Sample(ids, (-1.0,) * len(ids), False, prompt)

    async def close(self) -> None:
        """It holds nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    report([sheet()], chosen.json)


def sheet() -> Sheet:
    """Both ways in one run."""
    apart, ours = (asyncio.run(played(in_step)) for in_step in (True, False))
    floor = EPISODES * TURNS * SECONDS / TOOLS
    return Sheet(
        f"{EPISODES} episodes of {TURNS} commands of {SECONDS} s, {TOOLS} at a time, and answers that take as long",
        (
            Figure("one stage after another", apart, "s"),
            Figure("each episode by itself", ours, "s"),
            at_least("times as fast", apart / ours, 1.5, ""),
            Figure("the floor, at which it would be", apart / floor, "times as fast"),
        ),
    )


async def played(in_step: bool) -> float:
    """Seconds from the first answer that is asked for to the end of the last episode."""
    pool, places = SandboxPool(open_backend()), asyncio.Semaphore(ENGINE)
    together, started = Together(EPISODES if in_step else None), Together(EPISODES)
    began = 0.0
    with Workers(TOOLS) as workers:

        async def episode() -> Trajectory:
            nonlocal began
            policy = TokenConversation(Engine(places, together), CHAT, "solver", TOLD, toolset=SSR_TOOLS)
            async with pool.lease(SMALL) as lease, workers.entered(lease.open(World(), SMALL)) as sandbox:
                await started.come()
                began = began or time.monotonic()
                found = await play_episode(
                    policy, sandbox, "solver", toolset=SSR_TOOLS, workers=workers, limits=EpisodeLimits(seconds=3600)
                )
                together.leave()
                return found

        trajectories = await asyncio.gather(*(episode() for _ in range(EPISODES)))
    assert all(found.finish == Finish.SUBMITTED for found in trajectories)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
