"""How long `make test` takes, and whether it passes beside other work: tests that race fail then.

`python -m benchmarks.bench_suite [--target test-fast] [--times 3 --load 4] [--json]`. A load of N is N processes that
only count. What a run printed lies in runs/suite-N.log.
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_most, report

MINUTES = {"test": 15.0, "test-fast": 2.0}
"""Targets on two quiet cores."""
SPIN = "while True: pass"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="test", help="of the Makefile")
    parser.add_argument("--times", type=int, default=1, help="runs, one after the other")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside them")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with busy(asked.load):
        report(
            [Sheet(title(asked.target, asked.load), tuple(figures(asked.target, asked.times, asked.load)))], asked.json
        )


def title(target: str, load: int) -> str:
    return f"make {target}" + (f" beside a load of {load}" if load else " on a quiet machine")


def figures(target: str, times: int, load: int) -> Iterator[Figure]:
    """Minutes, passed and failed tests of each run."""
    for number in range(1, times + 1):
        log = Path("runs", f"suite-{number}.log")
        log.parent.mkdir(exist_ok=True)
        began = time.monotonic()
        with log.open("wb") as out:
            code = subprocess.run(["make", "--keep-going", target], stdout=out, stderr=subprocess.STDOUT).returncode
        minutes = (time.monotonic() - began) / 60
        found = counts(log.read_text(errors="replace"))
        most = MINUTES.get(target)
        quiet = most is not None and not load
        yield (
            at_most(f"run {number}", minutes, most, "min")
            if quiet and most
            else Figure(f"run {number}", minutes, "min")
        )
        yield Figure(f"run {number}: passed", found["passed"], "tests")
        yield at_most(f"run {number}: failed", max(found["failed"], int(code != 0)), 0, "tests")


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
