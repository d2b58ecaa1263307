"""How long it takes to prepare a repository, from its source to its environment, each time with a fresh cache.

`python -m benchmarks.bench_prepare [--against FOLDER] [--rounds N] [--json] [SOURCE ...]`. FOLDER is another
checkout of this project: both are measured in turns and compared. Builds download from the package index, so a slow
one shows.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_most, report

SOURCES = ("pypi:sqlparse==0.5.3", "pypi:jinja2==3.1.6", "pypi:boltons==25.0.0")
ROUNDS = 3
MOST_RATIO = 1.15
HERE = Path(__file__).parent.parent
PREPARE = """
import sys
from selfplay.repository import prepare
from selfplay.sandbox import open_backend
prepare(sys.argv[1], backend=open_backend(), releases=2)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", default=SOURCES, metavar="SOURCE")
    parser.add_argument("--against", type=Path, help="another checkout of this project")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args()
    report([sheet(args.sources, args.against, args.rounds)], args.json)


def sheet(sources: Sequence[str], against: Path | None, rounds: int) -> Sheet:
    """The median seconds of each source, and the ratios to the other checkout of all medians together."""
    checkouts = (HERE, *((against,) if against else ()))
    figures: list[Figure] = []
    walls, cores = dict.fromkeys(checkouts, 0.0), dict.fromkeys(checkouts, 0.0)
    for source in sources:
        taken: dict[Path, list[tuple[float, float]]] = {checkout: [] for checkout in checkouts}
        for _ in range(rounds):
            for checkout in checkouts:
                taken[checkout].append(seconds_of(source, checkout))
        for checkout in checkouts:
            wall, core = (statistics.median(column) for column in zip(*taken[checkout], strict=True))
            walls[checkout] += wall
            cores[checkout] += core
            name = f"{source}{'' if checkout == HERE else ', the other'}"
            figures += [Figure(name, wall, "s"), Figure(f"{name}, on the cores", core, "s")]
    if against:
        figures.append(at_most("to the other, all together", walls[HERE] / walls[against], MOST_RATIO, ""))
        figures.append(at_most("the same, on the cores", cores[HERE] / cores[against], MOST_RATIO, ""))
    return Sheet("prepare", tuple(figures), f"Medians of {rounds} rounds, each in a new process with a new cache.")


def seconds_of(source: str, checkout: Path) -> tuple[float, float]:
    """(wall seconds, core seconds of all processes) of preparing `source` with the code of `checkout`."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "SELFPLAY_CACHE": cache, "PYTHONPATH": str(checkout)}
        before, used = time.perf_counter(), core_seconds()
        subprocess.run([sys.executable, "-c", PREPARE, source], cwd=checkout, env=env, check=True, capture_output=True)
        return time.perf_counter() - before, core_seconds() - used


def core_seconds() -> float:
    """Of all ended children and theirs; the launcher ends, and so counts, with the process that prepares."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
