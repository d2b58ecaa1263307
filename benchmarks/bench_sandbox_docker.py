"""What a container of ours costs beside a plain one of the same engine, image and machine.

`python -m benchmarks.bench_sandbox_docker [--json]`. A plain container starts the same interpreter with the engine's
defaults (no network, since the engine of the tests has no bridge), and counts as started when its first byte arrives.
"""

import argparse
import functools
import os
import statistics
import sys
from pathlib import Path

from benchmarks.bench_sandbox import lives, many_alive, median, repository, suite_ratios, throughput, timed
from benchmarks.figures import Figure, Sheet, at_most, report
from selfplay.sandbox import SandboxError, World
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.container import binds
from selfplay.sandbox.docker.opening import docker_backend
from selfplay.sandbox.docker.stream import AttachedLink

STARTS, COMMANDS, LIVE, PLAIN = 15, 200, 50, 15
HELLO = "import sys; print('x', flush=True); sys.stdin.read()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    report([sheet()], parser.parse_args().json)


def sheet() -> Sheet:
    """Every figure of the table; where no engine isolates here, none and the reason."""
    missing = engine_missing()
    if missing:
        return Sheet("sandbox: docker", (), f"not measured: {missing}")
    backend = docker_backend()
    with repository(backend) as tree:
        figures = tuple(measure(backend, tree))
    said = backend.versions()
    title = f"sandbox: docker {said['engine']}, {said['storage']}, {os.cpu_count()} cores, {os.uname().release}"
    return Sheet(title, figures)


@functools.cache
def engine_missing() -> str:
    """Why nothing can be measured, empty where it can; said on standard error, once."""
    try:
        docker_backend()
    except SandboxError as error:
        print(f"docker's sheet cannot be run: {error}", file=sys.stderr, flush=True)
        return str(error)
    return ""


def measure(backend: DockerBackend, tree: Path) -> list[Figure]:
    ours, bare, cut_off = starts(backend)
    full, ends = lives(backend, World(tree=(tree,)), STARTS)
    with backend.open(World()) as sandbox:
        command = median(COMMANDS, lambda: sandbox.run(["true"], timeout=30))
        exec_run = median(20, lambda: exec_true(backend, sandbox.id))  # type: ignore[attr-defined]
    wall, _ = suite_ratios(backend, World())
    seconds, used = many_alive(backend, World(), LIVE)
    return [
        Figure("a plain container's start", bare, "ms"),
        Figure("start, empty tree", ours, "ms"),
        at_most("start / plain start", ours / bare, 1.2, "x"),
        at_most("start / plain start without any network", ours / cut_off, 1.2, "x"),
        Figure("start with a tree of 1000 files, 8 MB", statistics.median(full), "ms"),
        Figure("end: killed and removed", statistics.median(ends), "ms"),
        at_most("a command (true)", command, 2, "ms"),
        Figure("the same through the engine (exec)", exec_run, "ms"),
        at_most("a real suite, inside / bare, wall time", wall, 1.15, "x"),
        Figure(f"{LIVE} started, one command each", seconds, "s"),
        at_most(f"memory of {LIVE} live sandboxes", used, LIVE * 25, "MB"),
        Figure("whole lives, one thread", throughput(backend, World(), 1, STARTS), "1/s"),
        Figure("whole lives, four threads", throughput(backend, World(), 4, STARTS), "1/s"),
    ]


def starts(backend: DockerBackend) -> tuple[float, float, float]:
    """Milliseconds to start one of ours, a plain one, and a plain one whose network is disabled as ours is: medians of
    PLAIN turns."""
    ours, bare, cut_off = [], [], []
    for _ in range(PLAIN):
        bare.append(plain_start(backend, network_disabled=False))
        ours += lives(backend, World(), 1)[0]
        cut_off.append(plain_start(backend, network_disabled=True))
    return statistics.median(ours), statistics.median(bare), statistics.median(cut_off)


def plain_start(backend: DockerBackend, network_disabled: bool) -> float:
    """Milliseconds until a plain container's first byte."""
    api = backend.engine.api
    host = api.create_host_config(network_mode="none", mounts=binds(backend.image.mounts))
    made = []

    def start() -> None:
        command = [backend.python, "-I", "-S", "-B", "-c", HELLO]
        id = api.create_container(
            backend.image.name, command, stdin_open=True, host_config=host, network_disabled=network_disabled
        )["Id"]
        made.append(id)
        link = AttachedLink(api.attach_socket(id, params={"stdin": 1, "stdout": 1, "stream": 1}))
        api.start(id)
        link.recv_into(memoryview(bytearray(1)))
        link.close()

    milliseconds = timed(start)
    backend.remove(made[0])
    return milliseconds


def exec_true(backend: DockerBackend, id: str) -> None:
    api = backend.engine.api
    api.exec_start(api.exec_create(id, ["true"])["Id"])


if __name__ == "__main__":
    main()
