"""How long `selfplay --help` takes from a shell, and whether it brings in what only training needs.

`python -m benchmarks.bench_start [--json]`.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import Sheet, at_most, report

STARTS = 9
HEAVY = ("torch", "ray", "vllm", "transformers")
COMMAND = [str(Path(sys.executable).with_name("selfplay")), "--help"]
LOADED = "import sys, selfplay.cli; print(*(name for name in sys.modules if '.' not in name))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    report([sheet()], parser.parse_args().json)


def sheet() -> Sheet:
    """Median seconds of the command, warm, and the number of heavy packages it loads."""
    seconds_of_start()
    seconds = statistics.median(seconds_of_start() for _ in range(STARTS))
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    heavy = len(set(loaded) & set(HEAVY))
    figures = (at_most("selfplay --help", seconds, 0.5, "s"), at_most(f"of {', '.join(HEAVY)} loaded", heavy, 0, ""))
    return Sheet("start", figures)


def seconds_of_start() -> float:
    """Wall seconds of one `selfplay --help`."""
    before = time.perf_counter()
    subprocess.run(COMMAND, capture_output=True, check=True)
    return time.perf_counter() - before


if __name__ == "__main__":
    main()
