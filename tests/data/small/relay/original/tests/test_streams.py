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


def test_a_rest_is_kept():
    assert asyncio.run(collected(streams.chunked(counted(5), 2))) == [[0, 1], [2, 3], [4]]


def test_size_must_be_positive():
    with pytest.raises(ValueError):
        asyncio.run(collected(streams.chunked(counted(5), 0)))


class MappedTest(unittest.IsolatedAsyncioTestCase):
    async def test_order(self):
        self.assertEqual(await streams.mapped(slow, [3, 1, 2], 3), [6, 2, 4])

    async def test_nothing(self):
        self.assertEqual(await streams.mapped(slow, [], 3), [])
