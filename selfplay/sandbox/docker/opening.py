"""Creates, probes and shares one backend per process for an engine, an image and a runtime; waits for the engine."""

import atexit
import functools
import logging
import time

from selfplay.sandbox import machine
from selfplay.sandbox.docker import image
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.client import EngineLost
from selfplay.sandbox.probe import probe
from selfplay.sandbox.protocol import Limits, World

log = logging.getLogger(__name__)
AWAY_SECONDS, AWAY_PAUSE = 30.0, 0.5
"""How long a starting command waits for an engine that was there a moment ago."""


@functools.cache
def docker_backend(image_name: str | None = None, runtime: str | None = None) -> DockerBackend:
    """This process's backend for that image and runtime, probed once. Waits for an engine that is restarting. Raises
    `IsolationUnavailable`, naming the broken promise or why the engine cannot be used."""
    deadline, waits = time.monotonic() + AWAY_SECONDS, False
    while True:
        try:
            return _made(image_name, runtime)
        except EngineLost as lost:
            waits = waits or lost.away
            if not waits or time.monotonic() > deadline:
                raise
            log.warning("the Docker engine went away; waiting for it: %s", lost.message)
        time.sleep(AWAY_PAUSE)


def _made(image_name: str | None, runtime: str | None) -> DockerBackend:
    backend = DockerBackend(image_name, runtime)
    backend.promises = probe(backend)
    if image_name is not None:
        with backend.open(World(), machine.fitting(Limits())) as sandbox:
            image.require_programs(sandbox, image_name)
    atexit.register(backend.close)
    return backend
