"""Plays steps as far ahead of the weights as staleness allows, and learns them in order.

A step may begin to play when at most `staleness` updates before it are missing, so none of its tokens is staler than
that (after a kill they are fresher). With 0, playing and learning take turns. Deviation from the paper, which drops
rollouts more than 8 versions old: every planned episode is learned from, however late it ends, since learning from the
first to finish would prefer short episodes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

P = TypeVar("P")


async def pipelined(
    first: int,
    steps: int,
    staleness: int,
    play: Callable[[int], Awaitable[P]],
    learn: Callable[[P], Awaitable[None]],
) -> None:
    """Play and learn the steps from `first` up to `steps`. An error of either is raised at once; steps that still play
    are then cancelled and awaited."""
    playing: dict[int, asyncio.Future[P]] = {}
    try:
        for step in range(first, steps):
            for ahead in range(step, min(step + staleness + 1, steps)):
                if ahead not in playing:
                    playing[ahead] = asyncio.ensure_future(play(ahead))
            await _ended(playing[step], playing.values())
            learning: asyncio.Future[Any] = asyncio.ensure_future(learn(playing.pop(step).result()))
            try:
                await _ended(learning, [learning, *playing.values()])
            finally:
                if not learning.done():
                    learning.cancel()
                    await asyncio.gather(learning, return_exceptions=True)
    finally:
        for task in playing.values():
            task.cancel()
        await asyncio.gather(*playing.values(), return_exceptions=True)


async def _ended(wanted: asyncio.Future[Any], all_of_them: Collection[asyncio.Future[Any]]) -> None:
    """Wait for one task. An error of another task is raised at once."""
    pending = set(all_of_them)
    while not wanted.done():
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
