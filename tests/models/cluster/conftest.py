"""A run on Ray: workers import what the tests import."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from models.update.conftest import tiny_folder

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tiny(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny", smollm2, 49_152)


@pytest.fixture(autouse=True, scope="session")
def importable() -> Iterator[None]:
    """Ray's workers take the environment of the process that starts them."""
    with pytest.MonkeyPatch.context() as patch:
        known = os.environ.get("PYTHONPATH", "")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent), *filter(None, [known])]))
        patch.setenv("OMP_NUM_THREADS", "1")  # as a coached model has in one process: sums are then the same
        yield
