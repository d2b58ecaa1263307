"""Six benchmarks that need no run and no model, one table after the other: start, sandboxes, bugs, grading, SWE-smith's
bugs, overlapping stages. `make bench` runs them, in about fifteen minutes on two quiet cores. Every other
`benchmarks/bench_*.py` is a command of its own.
"""

import argparse
from collections.abc import Iterator

from benchmarks import bench_bugs, bench_grade, bench_overlap, bench_peer, bench_sandbox, bench_start
from benchmarks.figures import Sheet, report_each


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, all at the end")
    report_each(sheets(), parser.parse_args().json)


def sheets() -> Iterator[Sheet]:
    yield bench_start.sheet()
    yield from bench_sandbox.sheets()
    yield from bench_bugs.sheets()
    yield from bench_grade.sheets()
    yield from bench_peer.sheets()
    yield bench_overlap.sheet()


if __name__ == "__main__":
    main()
