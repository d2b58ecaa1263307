"""A server of both roles on the tiny repository, as a trainer meets it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from run_fixtures import Command, finished, selfplay, shop, together

from selfplay.environments.client import Client

__all__ = ["finished", "selfplay", "shop", "together"]
SERVED = ("--calls", 4, "--sessions", 2, "--prompts", 2, "--workers", 1)


@pytest.fixture(scope="module")
def served(selfplay: Command, shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Client]]:
    """The run's folder and a client. One test of the module goes on where the one before it ended."""
    out = tmp_path_factory.mktemp("runs") / "served"
    with selfplay.running("serve-env", shop, "--out", out, *SERVED) as server:
        server.until("serving")
        yield out, Client.of(out, wait=0.0)
