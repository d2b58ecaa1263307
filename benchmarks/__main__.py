"""Every benchmark, one table after the other: what `make bench` runs. About fifteen minutes on two quiet cores."""

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
