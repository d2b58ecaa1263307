"""A thousand episodes at once: what the loop itself costs, with an engine and tools that only take time.

The engine answers after 50 ms, a tool takes 200 ms, 256 tools run at a time: so the tools alone take
episodes x turns x 0.2 s / 256. What is above that is arithmetic (`floor`) and ours.
`python -m benchmarks.bench_episodes [--json]`.
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
from selfplay.rollout.stage import Stage
from selfplay.sandbox import Completed
from selfplay.sandbox.workers import Workers

EPISODES, TURNS, PLACES = 1000, 20, 256
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
    """One episode's: answers with a call of bash, after `TURNS` of them with a submit, then with words."""

    name, context = "stub", 1_000_000

    def __init__(self) -> None:
        self.turn = 0

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        self.turn += 1
        await asyncio.sleep(ANSWER_SECONDS)
        call = "submit>\n" if self.turn > TURNS else f"bash>\necho {self.turn}\n"
        said = "Done." if self.turn > TURNS + 1 else f"{'hm ' * (THOUGHTS // 3)}\n<tool: {call}</tool>"
        ids = (*map(ord, said), 256)
        return Sample(ids, (-1.0,) * len(ids), False, prompt)


class Tools:
    """A sandbox whose every command takes its time and prints the same."""

    def run(self, command: Any, *, timeout: float, **_: Any) -> Completed:
        time.sleep(TOOL_SECONDS)
        return Completed(0, OUTPUT, b"", False, False, TOOL_SECONDS, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    report([sheet()], parser.parse_args().json)


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
    """The episodes on the stage that `selfplay curriculum` and `solve` play on."""
    chat, sandbox = ChatFormat(Characters()), Tools()
    told = (Message("system", "You are a stub."), Message("user", "Play."))

    def episode(workers: Workers) -> Coroutine[Any, Any, Trajectory]:
        conversation = TokenConversation(Engine(), chat, "solver", told, toolset=SSR_TOOLS)
        return play_episode(
            conversation,
            sandbox,  # type: ignore[arg-type]
            "solver",
            toolset=SSR_TOOLS,
            workers=workers,
            limits=EpisodeLimits(seconds=600),
        )

    with Stage(EPISODES, PLACES) as stage:
        games = [stage.start(episode) for _ in range(EPISODES)]
        return [game.result() for game in games]


if __name__ == "__main__":
    main()
