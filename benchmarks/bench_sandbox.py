"""What isolation costs: start, command, suite, memory and throughput of the sandbox, each beside its target.

`python -m benchmarks.bench_sandbox [--json] [--no-peers]`. Times are medians; the suite runs inside and outside by
turns, so that both see the same noise. Docker is measured on the engine that DOCKER_HOST names; other projects, each
in an environment of its own, in the same run (`bench_sandbox_docker`, `bench_sandbox_peers`).
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_least, at_most, report_each
from selfplay.sandbox import MIB, Backend, Mount, World, open_backend
from selfplay.sandbox.bubblewrap import BubblewrapBackend

FILES, FILE_BYTES = 1000, 8192
STARTS, COMMANDS, LIVE, SUITES, WAKES = 100, 300, 500, 7, 30
NAP, SETTLING = 0.03, 3.0
"""Seconds: of idleness before a rest where waking is measured; that memory is given to settle."""
PREFIX = Path(sys.base_prefix).resolve()
SUITE = ("test_json", "test_configparser", "test_textwrap", "test_statistics", "test_ast", "test_fractions")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--no-peers", action="store_true", help="leave other projects out")
    options = parser.parse_args()
    report_each(sheets(peers=not options.no_peers), options.json)


def sheets(peers: bool = True) -> Iterator[Sheet]:
    """bubblewrap's table, Docker's, and those of other projects. What has no engine is said before the first is
    measured, and the others are."""
    from benchmarks import bench_sandbox_docker, bench_sandbox_peers

    bench_sandbox_docker.engine_missing()
    yield sheet()
    yield bench_sandbox_docker.sheet()
    if peers:
        yield bench_sandbox_peers.sheet()


def sheet() -> Sheet:
    """Every figure of bubblewrap's table."""
    started = time.perf_counter()
    backend = open_backend()
    probe = (time.perf_counter() - started) * 1000
    with repository(backend) as tree:
        figures = (Figure("probe, once per process", probe, "ms"), *measure(backend, World(tree=(tree,))))
    return Sheet(f"sandbox: bubblewrap, {os.cpu_count()} cores, {os.uname().release}", figures)


def measure(backend: Backend, world: World) -> Iterator[Figure]:
    starts, ends = lives(backend, world)
    yield at_most("start, private copy-on-write tree", statistics.median(starts), 15, "ms")
    yield Figure("start, 90th percentile", statistics.quantiles(starts, n=10)[-1], "ms")
    yield Figure("end: killed and everything gone", statistics.median(ends), "ms")
    with backend.open(world) as sandbox:
        argv = median(COMMANDS, lambda: sandbox.run(["true"], timeout=30))
        yield at_most("a command (true)", argv, 1, "ms")
        yield at_most("a bash command (:)", median(COMMANDS, lambda: sandbox.run(":", timeout=30)), 2, "ms")
        yield Figure("the same, bare subprocess", median(COMMANDS, lambda: subprocess.run(["true"])), "ms")
        yield Figure("a small file read", median(COMMANDS, lambda: sandbox.read_file("folder0/file0")), "ms")
    wall, cpu = suite_ratios(backend, world)
    yield at_most("a real suite, inside / bare, wall time", wall, 1.05, "x")
    yield Figure("the same, CPU time", cpu, "x")
    yield Figure("a command after a rest", after_a_rest(world), "ms")
    yield from resting_and_awake(world)
    yield Figure("whole lives, one thread", throughput(backend, world, 1, STARTS), "1/s")
    yield at_least("whole lives, four threads", throughput(backend, world, 4, STARTS), 75, "1/s")


@contextmanager
def repository(backend: Backend) -> Iterator[Path]:
    """A tree of a thousand files, in a folder that only its owner can enter."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name, "tree")
        for number in range(FILES):
            path = tree / f"folder{number % 20}" / f"file{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(FILE_BYTES))
        for path in (tree, *tree.rglob("*")):
            os.chown(path, *backend.owner())
        yield tree


def median(count: int, action: Callable[[], object]) -> float:
    """Median milliseconds of one call."""
    return statistics.median(timed(action) for _ in range(count))


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def lives(backend: Backend, world: World, count: int = STARTS) -> tuple[list[float], list[float]]:
    """Milliseconds to start, and to end, of each of `count` sandboxes."""
    starts, ends = [], []
    for _ in range(count):
        stack = ExitStack()
        starts.append(timed(lambda stack=stack: stack.enter_context(backend.open(world))))  # type: ignore[misc]
        ends.append(timed(stack.close))
    return starts, ends


def suite_ratios(backend: Backend, world: World) -> tuple[float, float]:
    """Tests of Python's own standard library, inside and bare, by turns: ratios of the median wall and CPU times."""
    python = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    command = [str(python), "-I", "-B", "-m", "unittest", "-q", *(f"test.{name}" for name in SUITE)]
    mounts = () if PREFIX.is_relative_to("/usr") else (Mount(PREFIX, str(PREFIX)),)
    inside, bare = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        backend.open(World(tree=world.tree, mounts=mounts)) as sandbox,
    ):
        env = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        for _ in range(SUITES):
            done = sandbox.run(command, timeout=300)
            if done.exit_code != 0:
                raise SystemExit(f"the suite fails inside:\n{done.text[-2000:]}")
            inside.append((done.seconds, done.cpu_seconds))
            started, used = time.perf_counter(), children_cpu()
            subprocess.run(command, cwd=folder, env=env, capture_output=True, check=True)
            bare.append((time.perf_counter() - started, children_cpu() - used))
    wall, cpu = (
        statistics.median(run[i] for run in inside) / statistics.median(run[i] for run in bare) for i in (0, 1)
    )
    return wall, cpu


def children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def after_a_rest(world: World) -> float:
    """Median milliseconds of a command that wakes a resting agent."""
    with closing(BubblewrapBackend(rest_seconds=NAP)) as backend, backend.open(world) as sandbox:

        def rested() -> float:
            time.sleep(4 * NAP)
            return timed(lambda: sandbox.run(["true"], timeout=30))

        return statistics.median(rested() for _ in range(WAKES))


def resting_and_awake(world: World) -> Iterator[Figure]:
    """Memory of many that never rest, then of as many that do."""
    with closing(BubblewrapBackend(rest_seconds=0)) as restless:
        seconds, used = many_alive(restless, world, LIVE)
    yield Figure(f"{LIVE} started, one command each", seconds, "s")
    yield Figure(f"memory of {LIVE} live sandboxes, right after a command", used, "MB")
    with closing(BubblewrapBackend()) as backend:
        idle = backend.rest_seconds + SETTLING
        _, used = many_alive(backend, world, LIVE, idle)
    yield at_most(f"memory of {LIVE} live sandboxes at rest, {idle:.0f} s after the last command", used, 500, "MB")


def many_alive(backend: Backend, world: World, live: int, idle_seconds: float = 0) -> tuple[float, float]:
    """`live` sandboxes at once, each after one command: the seconds they took to start and the megabytes that the
    machine gets back when, `idle_seconds` later, they end. Their end takes a second or two, their start many more, in
    which others on the machine come and go."""
    with ExitStack() as stack:
        started = time.perf_counter()
        for _ in range(live):
            stack.enter_context(backend.open(world)).run("echo x > file", timeout=30)
        seconds = time.perf_counter() - started
        time.sleep(idle_seconds)
        held = available()
    time.sleep(SETTLING)
    return seconds, (available() - held) / MIB


def available() -> int:
    """Bytes of memory the machine can still give."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def throughput(backend: Backend, world: World, threads: int, count: int) -> float:
    """Whole lives (start, one command, end) a second."""

    def life(_: int) -> None:
        with backend.open(world) as sandbox:
            sandbox.run(["true"], timeout=30)

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(life, range(count)))
    return count / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
