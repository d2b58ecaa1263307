"""Others' trainers, as they are, on a served run of the tiny repository. `make test-interop` runs these, in an
environment of their own (`make interop`); each fails where its trainer is not installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from run_fixtures import Command, selfplay, shop, together
from tiny_chat import make_tiny_chat

from selfplay.environments.client import Client

__all__ = ["selfplay", "shop", "together"]
SERVED = ("--calls", 4, "--sessions", 8, "--prompts", 1, "--workers", 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_chat(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def served(selfplay: Command, shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Client]]:
    """The run's folder, in which there is no bug yet, and a client."""
    out = tmp_path_factory.mktemp("runs") / "served"
    with selfplay.running("serve-env", shop, "--out", out, *SERVED) as server:
        server.until("serving")
        yield out, Client.of(out)
