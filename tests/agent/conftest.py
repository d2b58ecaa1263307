from collections.abc import Iterator

import pytest
from bench_fixtures import backend

from selfplay.sandbox import Backend, Sandbox, World

__all__ = ["backend"]


@pytest.fixture
def sandbox(backend: Backend) -> Iterator[Sandbox]:
    """An empty one, with the programs of the machine."""
    with backend.open(World(env={"PATH": "/usr/bin:/bin"})) as opened:
        yield opened
