"""Every benchmark, one table after the other: what `make bench` runs. About fifteen minutes on two quiet cores."""

import argparse
from collections.abc import Iterator

from benchmarks import bench_bugs, bench_grade, bench_peer, bench_sandbox, bench_start
from benchmarks.figures import Sheet, report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, all at the end")
    if parser.parse_args().json:
        report(list(sheets()), as_json=True)
        return
    for sheet in sheets():
        report([sheet], as_json=False)


def sheets() -> Iterator[Sheet]:
    yield bench_start.sheet()
    yield from bench_sandbox.sheets()
    yield from bench_bugs.sheets()
    yield from bench_grade.sheets()
    yield from bench_peer.sheets()


if __name__ == "__main__":
    main()
