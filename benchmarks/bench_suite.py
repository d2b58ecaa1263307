"""How long `make test` takes, and whether it passes beside other work: tests that race fail then.

`python -m benchmarks.bench_suite [--target test-fast] [--times 3 --load 4] [--times 3 --at-once] [--json]`. A load of N
is N processes that only count. `--at-once`: the runs go side by side, each a load of three workers to the others (not
for `test-alone`, which looks at what is left on the machine). What a run printed lies in runs/suite-N.log.
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_most, report

MINUTES = {"test": 15.0, "test-fast": 2.0}
"""Targets on two quiet cores."""
SPIN = "while True: pass"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="test", help="of the Makefile")
    parser.add_argument("--times", type=int, default=1, help="runs, one after the other")
    parser.add_argument("--at-once", action="store_true", help="all runs at once")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside them")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with busy(asked.load):
        most = None if asked.load or asked.at_once else MINUTES.get(asked.target)
        with ThreadPoolExecutor(asked.times if asked.at_once else 1) as runs:
            found = list(runs.map(partial(run, asked.target), range(1, asked.times + 1)))
        report([Sheet(title(asked), tuple(one for each in found for one in figures(each, most)))], asked.json)


def title(asked: argparse.Namespace) -> str:
    beside = f"beside a load of {asked.load}" if asked.load else "on a quiet machine"
    return f"make {asked.target} " + (f"{asked.times} times at once" if asked.at_once else beside)


@dataclass(frozen=True)
class Finished:
    """A run of the tests."""

    number: int
    minutes: float
    passed: int
    failed: int


def run(target: str, number: int) -> Finished:
    log = Path("runs", f"suite-{number}.log")
    log.parent.mkdir(exist_ok=True)
    began = time.monotonic()
    with log.open("wb") as out:
        code = subprocess.run(["make", "--keep-going", target], stdout=out, stderr=subprocess.STDOUT).returncode
    found = counts(log.read_text(errors="replace"))
    minutes = (time.monotonic() - began) / 60
    return Finished(number, minutes, found["passed"], max(found["failed"], int(code != 0)))


def figures(found: Finished, most: float | None) -> Iterator[Figure]:
    """Minutes, at most `most`, and passed and failed tests of a run."""
    name = f"run {found.number}"
    yield Figure(name, found.minutes, "min") if most is None else at_most(name, found.minutes, most, "min")
    yield Figure(f"{name}: passed", found.passed, "tests")
    yield at_most(f"{name}: failed", found.failed, 0, "tests")


def counts(printed: str) -> dict[str, int]:
    """Passed and failed tests of all closing lines of pytest."""
    lines = [line for line in printed.splitlines() if re.match(r"(=+ )?\d+ (passed|failed)", line)]
    words = re.findall(r"(\d+) (passed|failed)", "\n".join(lines))
    return {name: sum(int(number) for number, word in words if word == name) for name in ("passed", "failed")}


@contextmanager
def busy(load: int) -> Iterator[None]:
    """So many processes that only count, meanwhile."""
    workers = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(load)]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


if __name__ == "__main__":
    main()
