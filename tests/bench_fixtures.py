"""One backend and one world per language for all tests of the checks; runs of the originals are shared."""

from collections.abc import Callable, Iterator
from pathlib import Path

import hand_made
import pytest
from one_at_a_time import OneAtATime

from selfplay.artifact import Artifact
from selfplay.sandbox import Backend, World, open_backend
from selfplay.workbench import RunCache, Workbench

Bench = Callable[..., Workbench]


@pytest.fixture(scope="session")
def backend() -> Iterator[Backend]:
    opened = open_backend()
    yield opened
    opened.close()


@pytest.fixture(scope="session", name="backend")
def lone_backend() -> Iterator[Backend]:
    """A backend with one live sandbox at a time, as a lease of the pool has: code that opens a second one fails."""
    opened = open_backend()
    yield OneAtATime(opened)
    opened.close()


@pytest.fixture(scope="session")
def worlds(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    folder: Path = tmp_path_factory.mktemp("worlds")
    return {language: hand_made.world(language, backend, folder) for language in hand_made.LANGUAGES}


@pytest.fixture(scope="session")
def shared() -> RunCache:
    return RunCache()


@pytest.fixture(scope="session")
def bench(backend: Backend, worlds: dict[str, World], shared: RunCache) -> Bench:
    """`bench(language, artifact, **options)`: a workbench of an artifact of one of the hand-made repositories."""

    def make(language: str, artifact: Artifact, **options: object) -> Workbench:
        return Workbench(backend, worlds[language], artifact, **{"shared": shared, **options})

    make.backend, make.worlds = backend, worlds
    return make
