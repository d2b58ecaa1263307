"""How many verified bugs can be demonstrated, and how long the lessons are, on curricula that are there.

`.venv-models/bin/python -m benchmarks.bench_lessons RUN_DIR... --tokenizer FOLDER [--context 8192] [--json]`.

Each run is copied, its bugs are demonstrated in the staged injector, and what `trajectories export` makes of them is
counted in tokens. A lesson longer than the context cannot be learned from whole.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, Sheet, report
from selfplay.commands.demonstrate import Shown, demonstrate
from selfplay.commands.lessons import LessonOrder, write_lessons
from selfplay.curriculum import open_existing
from selfplay.sandbox import open_backend


def demonstrated(run: Path, workers: int) -> tuple[list[Shown], float]:
    """What came of each bug, and the wall seconds it took."""
    backend = open_backend()
    try:
        with open_existing(run) as pool:
            began = time.monotonic()
            return list(demonstrate(pool, backend, workers)), time.monotonic() - began
    finally:
        backend.close()


def lengths(run: Path, tokenizer: str) -> list[int]:
    """Tokens of each lesson for the injector."""
    out = run / "lessons.jsonl"
    write_lessons(LessonOrder(run, out, "injector", tokenizer))
    return sorted(len(json.loads(line)["input_ids"]) for line in out.read_text().splitlines())


def sheet(run: Path, tokenizer: str, context: int) -> Sheet:
    """A table of one run."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "run")
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("*-injector.jsonl.zst"))
        found, seconds = demonstrated(copy, os.cpu_count() or 1)
        tokens = lengths(copy, tokenizer)
    return Sheet(
        f"lessons of {run.name}, {len(found)} bugs",
        (
            Figure("bugs demonstrated", sum(not shown.why for shown in found), ""),
            Figure("seconds a bug", seconds / len(found), "s"),
            Figure("lessons", len(tokens), ""),
            Figure("tokens of a lesson, median", statistics.median(tokens), ""),
            Figure("tokens of the longest", tokens[-1], ""),
            Figure(f"lessons within {context} tokens", sum(n <= context for n in tokens), ""),
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_lessons", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--tokenizer", required=True, help="a model's folder")
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    report([sheet(run, asked.tokenizer, asked.context) for run in asked.runs], asked.json)


if __name__ == "__main__":
    main()
