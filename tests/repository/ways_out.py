"""Sandboxes as builds have them, with their way out, on both backends."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from selfplay.repository.building.environment import _uv
from selfplay.repository.building.interpreters import choose
from selfplay.repository.network.egress import Egress, open_egress
from selfplay.repository.network.indexes import configured, for_sandbox
from selfplay.sandbox import Backend, Mount, Sandbox, World, open_backend

SETTINGS = ("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "DEFAULT_INDEX", "INDEX")


@pytest.fixture(scope="module", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(request.param)


@pytest.fixture
def own_index(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing configured for pip or uv, and no proxy."""
    for tool in ("PIP", "UV"):
        for setting in SETTINGS:
            monkeypatch.delenv(f"{tool}_{setting}", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr("selfplay.repository.network.indexes._pip_files", dict)
    return monkeypatch


@contextmanager
def building(backend: Backend, hosts: Sequence[str] = ()) -> Iterator[tuple[Egress, Sandbox]]:
    """A sandbox as a build has it, with the way out."""
    env, mounts = for_sandbox(configured())
    python = choose(None, None)
    prefix = (Mount(python.prefix, str(python.prefix)),) if python.prefix else ()
    with open_egress(backend, hosts) as egress:
        shown = (*mounts, *prefix, *egress.mounts, Mount(_uv(), "/build/uv"))
        env = {**env, "UV_CACHE_DIR": "/tmp/uv", "PYTHON": str(python.executable), "UV_HTTP_RETRIES": "0"}
        with backend.open(World(mounts=shown, env=env)) as sandbox:
            egress.check(sandbox)
            assert not egress.why_not
            yield egress, sandbox
