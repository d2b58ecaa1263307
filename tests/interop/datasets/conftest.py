"""Every test here is marked `interop`: it runs a real tool, in an environment of its own (`make interop`)."""

from pathlib import Path

import pytest
from interop_datasets import backend, bench, bugs, exported, log, shared, tool, worlds

__all__ = ["backend", "bench", "bugs", "exported", "log", "shared", "tool", "worlds"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.interop)
