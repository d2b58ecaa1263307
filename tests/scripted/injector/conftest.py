"""A prepared shop, once for all tests of the injector that need a repository."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_repository
from bench_fixtures import backend

from selfplay.repository import Prepared, Suite, measure_suite, prepare
from selfplay.sandbox import Backend

__all__ = ["backend"]


@pytest.fixture(scope="session")
def shop(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    source = tiny_repository.make(tmp_path_factory.mktemp("shop") / "shop")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # sandboxes of root's runs are somebody else's
        yield prepare(str(source), backend=backend, cache=Path(folder, "cache"))


@pytest.fixture(scope="session")
def suite(shop: Prepared, backend: Backend) -> Suite:
    return measure_suite(shop, backend)
