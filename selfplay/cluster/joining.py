"""Join a Ray cluster that runs, or start one on this machine for as long as a run takes.

Who reaches a Ray cluster runs code on it, and Ray listens on every address of a machine. So one that is started here
takes orders only with a token, which is made for it.
"""

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray

from selfplay.cluster.errors import ClusterError
from selfplay.training.config import Cluster

log = logging.getLogger(__name__)
QUIET = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
TOKEN = "RAY_AUTH_TOKEN"


@contextmanager
def joined(wanted: Cluster, address: str | None) -> Iterator[None]:
    """A Ray cluster with room for the actors of a run. `address`: of one that runs already; None starts one here.

    Raises `ClusterError` when it cannot be reached, is of another Ray or Python, or is too small."""
    try:
        _here() if address is None else ray.init(address, **_without(QUIET, "include_dashboard"))
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at {address}"
        raise ClusterError(
            f"no Ray cluster can be used {where}: {' '.join(str(error).split())[:400]}",
            f"It must run, and be of Ray {ray.__version__} and this Python; `ray status` tells.",
        ) from error
    try:
        _refuse_too_small(wanted, ray.cluster_resources())
        yield
    finally:
        ray.shutdown()


def _here() -> None:
    """Start Ray on this machine. It takes token authentication by itself when there is a token and no other choice was
    made in the environment."""
    os.environ.setdefault(TOKEN, secrets.token_hex(32))
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(**QUIET)


def _refuse_too_small(wanted: Cluster, found: dict[str, Any]) -> None:
    """Raises `ClusterError`: Ray would wait for ever for a place."""
    for what, needed, there in (
        ("GPUs", wanted.gpus, found.get("GPU", 0)),
        ("cores for hosts", wanted.hosts * wanted.host_cpus, found.get("CPU", 0)),
    ):
        if needed > there:
            raise ClusterError(
                f"the run needs {needed} {what}, and the cluster has {there:g}",
                "Ask for fewer under `cluster`, or join a larger one with --ray-address.",
            )


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}
