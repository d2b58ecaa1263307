"""Tests marked `docker` need an engine. Where SELFPLAY_TEST_DOCKER is `required`, as in CI, one that is not there fails
them; elsewhere they are skipped, and the closing lines say so and how to have one."""

import functools
import importlib.util
import os
import shutil
import signal
import tempfile

import pytest

HOW = 'no Docker engine answers: `eval "$(.ci/docker-engine start)"` starts one (root)'

STATE = "XDG_STATE_HOME"
"""Where the user's notes lie: those of the tests are not the user's."""


if importlib.util.find_spec("hypothesis"):  # an ordinary user's Python runs some tests without it
    from hypothesis import HealthCheck, settings

    # A machine may be busy with other work: no example has a time.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


def pytest_unconfigure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ and "state-of-tests-" in os.environ[STATE]:
        shutil.rmtree(os.environ[STATE], ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    if STATE not in os.environ:  # workers get the same
        os.environ[STATE] = tempfile.mkdtemp(prefix="state-of-tests-")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background job, and all that it starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "docker: needs a Docker engine")


COSTLY = {"lab", "data", "calibrated", "attempted", "src_layout", "bare", "suite", "wheel"}
"""Fixtures that build something, measure a suite or calibrate a bug: three seconds and more, once a worker. A test
that needs one is slow, whichever of them happens to be first; so is one on a Docker engine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("docker") or COSTLY & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    marked = [item for item in items if item.get_closest_marker("docker")]
    if marked and os.environ.get("SELFPLAY_TEST_DOCKER") != "required" and not engine_answers():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=HOW))


@functools.cache
def engine_answers() -> bool:
    try:
        from selfplay.sandbox.docker.client import EngineUnavailable, connect
    except ImportError:  # an interpreter without the Docker SDK, as an ordinary user's system Python
        return False
    try:
        connect()
    except EngineUnavailable:
        return False
    return True
