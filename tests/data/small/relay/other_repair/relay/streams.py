"""Asynchronous streams."""

import asyncio


async def chunked(source, size):
    if size <= 0:
        raise ValueError(f"{size} is no size")
    iterator, done = source.__aiter__(), False
    while not done:
        held = []
        for _ in range(size):
            try:
                held.append(await iterator.__anext__())
            except StopAsyncIteration:
                done = True
                break
        if held:
            yield held


async def mapped(function, items, limit):
    """The results of an asynchronous function, in the order of the items."""
    gate = asyncio.Semaphore(limit)

    async def one(item):
        await gate.acquire()
        try:
            return await function(item)
        finally:
            gate.release()

    return await asyncio.gather(*map(one, items))
