"""A thousand episodes at once: what the loop costs, and what the pool with real sandboxes adds.

The first sheet has tools that only take time: the engine answers after 50 ms, a tool takes 200 ms, 256 tools run at a
time, so the tools alone take episodes x turns x 0.2 s / 256. What is above that is arithmetic (`floor`) and ours. In
the second every episode has a lease of the pool and a bubblewrap sandbox of its own, in which its commands run; the
tools' own time is what these took, added up and divided by how many ran at a time.
`python -m benchmarks.bench_episodes [--json] [--real-only]`.
"""

import argparse
import asyncio
import heapq
import resource
import time
from array import array
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from benchmarks.figures import Figure, Sheet, at_most, report
from selfplay.agent import EpisodeLimits, Finish, Trajectory, play_episode
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import TokenConversation
from selfplay.agent.model import Message, Sample, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.commands.cost import cpu_seconds
from selfplay.rollout.scheduler import relaxed_gc
from selfplay.sandbox import MIB, Backend, Completed, Limits, Sandbox, World, open_backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers

EPISODES, TURNS, PLACES = 1000, 20, 256
REAL_TURNS, REAL_PLACES = 10, 32
SMALL = Limits(memory_bytes=128 * MIB, disk_bytes=16 * MIB)
TOOL_SECONDS, ANSWER_SECONDS = 0.2, 0.05
THOUGHTS = 200
"""Characters, and so tokens, of each answer before its call."""
OUTPUT = b"a line of what a test suite prints\n" * 40
MB = 1024


class Characters:
    """A tokenizer of characters: one token each, two special ones that end and begin a message."""

    name = "characters"
    eos: tuple[int, ...] = (256,)

    def render(self, messages: Sequence[Mapping[str, str]], answer: bool) -> str:
        text = "".join(f"\x01{message['role']}\n{message['content']}\x00" for message in messages)
        return text + ("\x01assistant\n" if answer else "")

    def encode(self, text: str, special: bool) -> list[int]:
        text = text.replace("\0", "\u0100").replace("\1", "\u0101") if special else text
        return array("i", text.encode("utf-32-le")).tolist()

    def decode(self, ids: Sequence[int]) -> str:
        return array("i", ids).tobytes().decode("utf-32-le")

    def is_special(self, token: int) -> bool:
        return token >= 256

    def names_special(self, text: str) -> bool:
        return False


class Engine:
    """One episode's: answers with a call of bash, after `turns` of them with a submit, then with words."""

    name, context = "stub", 1_000_000

    def __init__(self, turns: int, command: str = "echo") -> None:
        self.turns, self.command, self.turn = turns, command, 0

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        self.turn += 1
        await asyncio.sleep(ANSWER_SECONDS)
        call = "submit>\n" if self.turn > self.turns else f"bash>\n{self.command}; echo {self.turn}\n"
        said = "Done." if self.turn > self.turns + 1 else f"{'hm ' * (THOUGHTS // 3)}\n<tool: {call}</tool>"
        ids = (*map(ord, said), 256)
        return Sample(ids, (-1.0,) * len(ids), False, prompt)

    async def close(self) -> None:
        """It holds nothing."""


CHAT = ChatFormat(Characters())
TOLD = (Message("system", "You are a stub."), Message("user", "Play."))


class Tools:
    """A sandbox whose every command takes its time and prints the same."""

    def run(self, command: Any, *, timeout: float, **_: Any) -> Completed:
        time.sleep(TOOL_SECONDS)
        return Completed(0, OUTPUT, b"", False, False, TOOL_SECONDS, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--real-only", action="store_true", help="only the episodes in real sandboxes")
    chosen = parser.parse_args()
    report([*([] if chosen.real_only else [sheet()]), real_sheet()], chosen.json)


def sheet() -> Sheet:
    """Memory and time of `EPISODES` concurrent episodes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MB
    started, cpu = time.monotonic(), time.process_time()
    trajectories = play()
    wall, cpu = time.monotonic() - started, time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MB
    tools = sum(len(trajectory.steps) - 1 for trajectory in trajectories)  # a submit takes no time
    ideal = tools * TOOL_SECONDS / PLACES
    assert all(t.finish == Finish.SUBMITTED and t.record.drift == 0 for t in trajectories)
    tokens = sum(len(segment.ids) for t in trajectories for segment in t.record.segments)
    return Sheet(
        f"{EPISODES} episodes at once, {TURNS} tools of {TOOL_SECONDS:.1f} s each, {PLACES} tools at a time",
        (
            at_most("memory", after - before, 1024, "MB"),
            at_most("above the tools' own time", 100 * (wall / ideal - 1), 5, "%"),
            Figure("of that, by arithmetic", 100 * (floor() / ideal - 1), "%"),
            Figure("core time a turn", 1000 * cpu / (tools + 2 * EPISODES), "ms"),
            Figure("tokens on the tapes", tokens / 1e6, "million"),
        ),
    )


def floor() -> float:
    """Seconds that the episodes take where nothing but engine and tools does: the first answers and the last two come
    while tools stand idle, and the turns of all episodes are no whole number of rounds of the places."""
    queue = deque((ANSWER_SECONDS, 0) for _ in range(EPISODES))  # when each asks for a tool, and how many it has used
    places = [0.0] * PLACES  # when each is free; the queue is in order, since every turn takes as long
    end = 0.0
    while queue:
        asked, used = queue.popleft()
        done = max(asked, heapq.heappop(places)) + (TOOL_SECONDS if used < TURNS else 0)
        heapq.heappush(places, done)
        if used < TURNS:
            queue.append((done + ANSWER_SECONDS, used + 1))
        end = max(end, done + ANSWER_SECONDS)
    return end


def play() -> list[Trajectory]:
    """The episodes with tools that only take time: what the loop itself costs."""

    async def main() -> list[Trajectory]:
        with Workers(PLACES) as workers, relaxed_gc():
            games = [_episode(Engine(TURNS), Tools(), workers) for _ in range(EPISODES)]  # type: ignore[arg-type]
            return await asyncio.gather(*games)

    return asyncio.run(main())


def _episode(engine: Engine, sandbox: Sandbox, workers: Workers) -> Coroutine[Any, Any, Trajectory]:
    conversation = TokenConversation(engine, CHAT, "solver", TOLD, toolset=SSR_TOOLS)
    limits = EpisodeLimits(seconds=3600)
    return play_episode(conversation, sandbox, "solver", toolset=SSR_TOOLS, workers=workers, limits=limits)


def real_sheet() -> Sheet:
    """A thousand episodes through the pool, each with a real sandbox of its own."""
    started, cpu = time.monotonic(), cpu_seconds()
    trajectories, most = play_real(open_backend())
    wall, cpu = time.monotonic() - started, cpu_seconds() - cpu
    ideal = sum(step.seconds for t in trajectories for step in t.steps) / REAL_PLACES
    assert all(t.finish == Finish.SUBMITTED for t in trajectories)
    return Sheet(
        f"{EPISODES} episodes in real sandboxes, {REAL_TURNS} commands of {TOOL_SECONDS:.1f} s each, "
        f"{REAL_PLACES} at a time",
        (
            at_most("above the tools' own time", 100 * (wall / ideal - 1), 10, "%"),
            Figure("wall", wall, "s"),
            Figure("most leases at once", most, ""),
            Figure("core time an episode, sandbox and commands included", cpu / EPISODES, "s"),
        ),
    )


def play_real(backend: Backend) -> tuple[list[Trajectory], int]:
    """The trajectories, and the most leases that were out at once."""
    most = 0

    async def main() -> list[Trajectory]:
        pool = SandboxPool(backend)

        async def life(workers: Workers) -> Trajectory:
            nonlocal most
            async with pool.lease(SMALL) as lease, workers.entered(lease.open(World(), SMALL)) as sandbox:
                most = max(most, pool.usage().leases)
                return await _episode(Engine(REAL_TURNS, f"sleep {TOOL_SECONDS}"), sandbox, workers)

        with Workers(REAL_PLACES) as workers, relaxed_gc():
            return await asyncio.gather(*(life(workers) for _ in range(EPISODES)))

    return asyncio.run(main()), most


if __name__ == "__main__":
    main()
