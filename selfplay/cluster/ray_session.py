"""Joins a running Ray cluster, or starts one on this machine for the duration of a run.

Anyone who can reach a Ray cluster can run code on it, and Ray listens on every address. So a cluster that is started
here requires a newly made token, and has its sockets and logs in a folder that no other user may enter: Ray itself
opens them to all, and follows whatever is put in their place.
"""

import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from selfplay.cluster.errors import ClusterError
from selfplay.loop.machine import Cluster, without_a_place
from selfplay.sandbox.owners import short_scratch

CONNECT_SECONDS = 20.0
TOKEN = "RAY_AUTH_TOKEN"


@contextmanager
def joined(wanted: Cluster, address: str | None) -> Iterator[None]:
    """A Ray cluster with room for the actors of a run. `address`: of a running cluster; None starts one here.

    Raises `ClusterError` if it cannot be reached, has another version of Ray or Python, or is too small."""
    with ExitStack() as stack:
        _begin(address, stack)
        try:
            _refuse_too_small(wanted)
            yield
        finally:
            ray.shutdown()


def _begin(address: str | None, stack: ExitStack) -> None:
    """Start Ray, or join one. What must be cleared away after it ends is put on the stack. Raises `ClusterError`."""
    try:
        _here(stack.enter_context(short_scratch())) if address is None else _there(address)
    except (RayError, RuntimeError, ValueError, OSError) as error:
        where = "on this machine" if address is None else f"at {address}"
        raise ClusterError(
            f"no Ray cluster can be used {where}: {' '.join(str(error).split())[:400]}",
            f"It must be running, with Ray {ray.__version__} and this Python; see `ray status`.",
        ) from error


def every_core() -> Cluster:
    """Hosts for all cores of the joined cluster, each as large as the smallest node; larger nodes have several."""
    cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    least = min((one for one in cores if one), default=1)
    return Cluster(hosts=max(1, sum(one // least for one in cores)), host_cpus=least, host_episodes=least)


def _there(address: str) -> None:
    """Join the cluster at this address. Checked first, since Ray waits minutes for a missing one."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    _init(address)


def _here(folder: Path) -> None:
    """Start Ray on this machine, even if another one runs. With a token, and no other choice in the environment, Ray
    uses token authentication. `folder`: closed; Ray opens the one that it is given, so that is one in it."""
    os.environ.setdefault(TOKEN, secrets.token_hex(32))
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    _init("local", include_dashboard=False, _temp_dir=str(folder / "ray"))


def _init(address: str, **options: Any) -> None:
    """Start or join Ray. It sets a handler of SIGTERM that exits at once; the process's own is kept, if it has one."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        with _nowhere():
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **options)
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _nowhere() -> Iterator[None]:
    """Stand in `/`. Every worker of Ray imports first from where its driver stood, and begins where Ray was started: a
    checkout's module would run on every node."""
    here = os.open(".", os.O_PATH | os.O_DIRECTORY)
    try:
        os.chdir("/")
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def _refuse_too_small(wanted: Cluster) -> None:
    """Raises `ClusterError` if an actor finds no place: Ray would wait forever for one."""
    why = without_a_place(wanted, [node["Resources"] for node in ray.nodes() if node["Alive"]])
    if why:
        advice = "Ask for fewer or smaller ones under `cluster`, or join a larger one with --ray-address."
        raise ClusterError(f"the run does not fit the cluster: {why}", advice)
