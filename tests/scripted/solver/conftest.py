"""A prepared shop, once for all solver tests, and the worlds of bugs planted in it by hand."""

from collections.abc import Callable, Mapping
from pathlib import Path

import hand_made
import pytest
import tiny_repository
from bench_fixtures import lone_backend, worlds
from together import made_once, together

from selfplay.artifact import Artifact
from selfplay.oracle.task import Task
from selfplay.oracle.world import solver_world
from selfplay.repository import Prepared, prepare
from selfplay.sandbox import Backend

__all__ = ["lone_backend", "together", "worlds"]
Plant = Callable[..., Task]


@pytest.fixture(scope="session")
def shop(backend: Backend, together: Path) -> Prepared:
    source = made_once(together / "solvers-shop", lambda folder: tiny_repository.make(folder, past=()))
    return prepare(str(source), backend=backend, cache=together / "cache")


@pytest.fixture(scope="session")
def plant(shop: Prepared) -> Plant:
    """`plant(bug={path: (old, new)}, hidden={path: (old, new)})`: the task of that bug and that weakening."""

    def make(bug: Mapping[str, tuple[str, str]], hidden: Mapping[str, tuple[str, str]]) -> Task:
        def edit(changes: Mapping[str, tuple[str, str]]) -> str:
            return hand_made.diff(
                shop.tree, lambda root: [hand_made.substitute(p, *c)(root) for p, c in changes.items()] and None
            )

        return Task(solver_world(shop), Artifact("", (), "", edit(bug), edit(hidden)))

    return make
