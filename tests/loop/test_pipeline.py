"""Which steps are played at once: never staler than asked for, learned once and in order, whatever takes how long."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.loop.pipeline import pipelined


class Run:
    """Steps that take so many turns of the event loop to be played and to be learned. `version`: how many were
    learned; `begun`: the version at which each step began to be played."""

    def __init__(self, first: int, playing: list[int], learning: list[int]) -> None:
        self.version, self.playing, self.learning = first, playing, learning
        self.begun: dict[int, int] = {}
        self.learned: list[int] = []
        self.at_once = self.most = 0

    async def play(self, step: int) -> int:
        self.begun[step] = self.version
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        for _ in range(self.playing[step]):
            await asyncio.sleep(0)
        self.at_once -= 1
        return step

    async def learn(self, step: int) -> None:
        for _ in range(self.learning[step]):
            await asyncio.sleep(0)
        self.learned.append(step)
        self.version += 1


TURNS = st.lists(st.integers(0, 12), min_size=7, max_size=7)


@given(st.integers(0, 3), st.integers(0, 7), TURNS, TURNS)
def test_no_step_is_staler_than_asked_for(first: int, staleness: int, playing: list[int], learning: list[int]) -> None:
    run = Run(first, playing, learning)
    asyncio.run(pipelined(first, 7, staleness, run.play, run.learn))
    assert run.learned == list(range(first, 7)), "each once and in order"
    assert all(step - begun <= staleness for step, begun in run.begun.items())
    assert run.most <= staleness + 1


def test_as_much_is_played_at_once_as_staleness_allows() -> None:
    """Four steps of ten turns each, learned in one: with staleness 2 the first three are played together."""
    run = Run(0, [10] * 4, [1] * 4)
    asyncio.run(pipelined(0, 4, 2, run.play, run.learn))
    assert run.most == 3 and run.begun == {0: 0, 1: 0, 2: 0, 3: 1}


def test_without_staleness_playing_and_learning_take_turns() -> None:
    run = Run(0, [3] * 4, [3] * 4)
    asyncio.run(pipelined(0, 4, 0, run.play, run.learn))
    assert run.most == 1 and run.begun == {0: 0, 1: 1, 2: 2, 3: 3}


@pytest.mark.parametrize("where", ["play", "learn"])
def test_an_error_ends_everything_that_runs(where: str) -> None:
    """Step 1 fails while step 0 would be played for ever, or while step 0 is learned for ever."""
    ended: list[str] = []

    async def forever(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def play(step: int) -> int:
        if step == 1:
            await asyncio.sleep(0.01)
            raise ValueError("step 1")
        if step == 2 or where == "play":
            await forever(f"play {step}")
        return step

    async def learn(step: int) -> None:
        await forever(f"learn {step}")

    with pytest.raises(ValueError, match="step 1"):
        asyncio.run(pipelined(0, 3, 2, play, learn))
    assert sorted(ended) == (["play 0", "play 2"] if where == "play" else ["learn 0", "play 2"])
