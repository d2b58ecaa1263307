"""What a verified bug costs: core seconds of everything after preparation, in runs of the suite's own worth.

`python -m benchmarks.bench_bugs [--project SOURCE]... [--bugs N] [--json]`.

A project's bugs are made one episode at a time, and after every second episode its own suite is run bare: plain pytest,
nothing recorded, warm bytecode, in a sandbox that stays open. So both sides of the ratio see the same noise, and no
second worker slows the core it shares. What the bare runs take is subtracted from the cost. The cost is the `cost` of
the summary: user and system time of this process and of all it started: survey, looks, failed tries, clean runs,
repeats, parsers, sandboxes.

The floor of a bug in one file is two suite runs and a part: with the bug, with the bug and the weakening, and the test
files that the weakening touches with the bug again (determinism); the two runs of the original are shared. To these
come the injector's looks, at least one at the tests that run the changed lines, each with the start of pytest and the
collection of their files; and the survey, one traced run for all bugs. So small suites are bounded by starting pytest,
large ones by the runs.
"""

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bare import Bare, bare_command, warmed
from benchmarks.figures import Figure, Sheet, at_least, at_most, report_projects
from selfplay.commands.curriculum import run_curriculum
from selfplay.commands.order import Order
from selfplay.repository import measure_suite, prepare
from selfplay.sandbox import Backend, open_backend
from selfplay.scripted.injector.survey_cache import place_of
from selfplay.validators import Thresholds

PROJECTS = ("pypi:sqlparse==0.5.3", "pypi:jinja2==3.1.6", "pypi:boltons==25.0.0")
BUGS, BUGS_OF_TWO = 10, 4
BARE_RUNS = 3
MOST_RUNS, LEAST_VALID, LEAST_LINES = 6, 75, 8
FLOOR = (
    "A suite run is the core seconds of a bare, warm run of the project's own suite, in this very benchmark. "
    "The floor is 2 runs (bug, bug weakened), a part of one (bug repeated) and the injector's look at some tests. "
    "Above it: more looks, the survey and two clean runs shared by all bugs, pytest's start in each, the sandboxes."
)


@dataclass(frozen=True)
class Measured:
    """One curriculum. `suite_*`: a bare run, median of `bare_runs`; `core_seconds`: all bugs together."""

    source: str
    min_files: int
    tests: int
    suite_wall_seconds: float
    suite_core_seconds: float
    bare_runs: int
    bugs: int
    wanted: int
    core_seconds: float
    wall_seconds: float
    valid_share: float
    median_changed_lines: float

    @property
    def runs_per_bug(self) -> float:
        return self.core_seconds / self.suite_core_seconds / max(1, self.bugs)

    @property
    def bugs_per_core_hour(self) -> float:
        return 3600 * self.bugs / self.core_seconds


def measure(source: str, bugs: int, min_files: int, backend: Backend) -> Measured:
    """Make a curriculum of `bugs` under mix in a folder that is thrown away."""
    prepared = prepare(source, backend=backend)
    suite = measure_suite(prepared, backend)
    with backend.open(prepared.world()) as sandbox, tempfile.TemporaryDirectory() as folder:
        bare = Bare(sandbox, bare_command(suite.files))
        warmed(bare, prepared)
        order = Order(source, Path(folder), bugs, workers=1, thresholds=Thresholds(min_changed_files=min_files))
        place_of(prepared, suite, None).unlink(missing_ok=True)  # every run pays for its survey
        summary = run_curriculum(order, backend, bare)
        cost, wall, core = summary["cost"]["bugs"], bare.spent_wall, bare.spent_core
        while len(bare.core) < BARE_RUNS:
            bare.run()
    return _measured(order, summary, bare, cost["core_seconds"] - core, cost["wall_seconds"] - wall)


def _measured(order: Order, summary: dict[str, Any], bare: Bare, core: float, wall: float) -> Measured:
    figures = summary["figures"]
    return Measured(
        source=order.source,
        min_files=order.thresholds.min_changed_files,
        tests=summary["suite"]["tests"],
        suite_wall_seconds=statistics.median(bare.wall),
        suite_core_seconds=statistics.median(bare.core),
        bare_runs=len(bare.core),
        bugs=figures["bugs"],
        wanted=order.bugs,
        core_seconds=core,
        wall_seconds=wall,
        valid_share=figures["valid_share"] or 0.0,
        median_changed_lines=figures["median_changed_lines"] or 0.0,
    )


def figures_of(one: Measured) -> list[Figure]:
    """The lines of one curriculum; lines and validity are asked of bugs in any number of files."""
    lines = [
        Figure("tests", one.tests, ""),
        Figure(f"bare suite, wall (median of {one.bare_runs})", one.suite_wall_seconds, "s"),
        Figure("bare suite, core", one.suite_core_seconds, "core s"),
        at_least("verified bugs", one.bugs, one.wanted, ""),
        at_least("submitted artifacts valid", 100 * one.valid_share, LEAST_VALID, "%"),
    ]
    if one.min_files > 1:
        return [*lines, Figure("suite runs per bug", one.runs_per_bug, "runs")]
    return [
        *lines,
        at_most("suite runs per bug", one.runs_per_bug, MOST_RUNS, "runs"),
        Figure("core seconds per bug", one.core_seconds / max(1, one.bugs), "core s"),
        Figure("verified bugs per core hour", one.bugs_per_core_hour, ""),
        at_least("changed lines, median", one.median_changed_lines, LEAST_LINES, ""),
    ]


def sheets(projects: Sequence[str] = PROJECTS, bugs: int = BUGS) -> Iterator[Sheet]:
    """A table per project for bugs in any number of files, and one for bugs in two."""
    backend = open_backend()
    for source in projects:
        for min_files, wanted in ((1, bugs), (2, min(bugs, BUGS_OF_TWO))):
            one = measure(source, wanted, min_files, backend)
            name = source.removeprefix("pypi:")
            yield Sheet(
                f"{name}, mix, --min-files {min_files}", tuple(figures_of(one)), FLOOR if min_files == 1 else ""
            )


if __name__ == "__main__":
    report_projects(__doc__, sheets, PROJECTS, "bugs", BUGS)
