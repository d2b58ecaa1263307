import asyncio
import unittest

import pytest

from relay import streams


async def counted(most):
    for number in range(most):
        yield number


async def slow(number):
    await asyncio.sleep(number / 500)
    return number * 2


async def collected(source):
    return [item async for item in source]


def test_chunks_that_fit():
    assert asyncio.run(collected(streams.chunked(counted(4), 2))) == [[0, 1], [2, 3]]


