"""Asynchronous streams."""

import asyncio


async def chunked(source, size):
    """Lists of at most `size` items of an asynchronous iterator."""
    if size < 1:
        raise ValueError("size must be positive")
    held = []
    async for item in source:
        held.append(item)
        if len(held) == size:
            yield held
            held = []
    if held:
        yield held


async def mapped(function, items, limit):
    """The results of an asynchronous function, in the order of the items; at most `limit` calls run at once."""
    gate, out = asyncio.Semaphore(limit), {}

    async def one(at, item):
        async with gate:
            out[at] = await function(item)

    await asyncio.gather(*(one(at, item) for at, item in enumerate(items)))
    return [out[at] for at in sorted(out)]
