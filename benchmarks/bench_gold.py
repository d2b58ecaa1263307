"""Is the right repair resolved, and nothing else, whatever a calibration drew? And how well is it assured?

`python -m benchmarks.bench_gold RUN... [--bugs N] [--times K] [--verdicts FILE] [--json]`: each bug of finished runs is
calibrated K times from nothing, since what a calibration draws (claims, probes, calls) differs from one to the next;
with each, the gold patch and the untouched world are graded. No run's folder is written to. With `--verdicts` each is
kept in a file as it comes, and one that is there is not made again.

A bug is fully assured when the gold patch is so with every calibration. The exit status is 1 when a gold patch is not
resolved or an untouched world is.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_least, at_most, report
from benchmarks.kept import Kept
from selfplay import patches
from selfplay.commands.grade import Gradable, gradable
from selfplay.curriculum.calibrations import calibration_of
from selfplay.curriculum.stored_bugs import prepared_for, read_bug
from selfplay.oracle.behaviour.stored_behaviour import Behaviour
from selfplay.oracle.errors import OracleError
from selfplay.oracle.grade import Grader
from selfplay.sandbox import Backend, Limits, open_backend

TIMES, ENOUGH = 3, 80.0
"""Calibrations of each bug; percent of the bugs that are to be fully assured."""


@dataclass(frozen=True)
class Verdict:
    """What one calibration of a bug gave. `gold`, `empty`: reasons of the two grades; `weaknesses`: of the gold one.
    `probes`, `calls`, `novel`: what the bug's behaviour is judged by, calls and novel ones among them. `unseen`: small
    changes of the repaired lines that no call shows, of so many `mutants`."""

    project: str
    bug: str
    number: int
    gold: str
    empty: str
    detail: str = ""
    weaknesses: tuple[str, ...] = ()
    probes: int = 0
    calls: int = 0
    novel: int = 0
    unseen: int = 0
    mutants: int = 0
    calibrating: float = 0.0
    grading: float = 0.0


def verdict(bug: Gradable, gold: str, number: int, backend: Backend) -> Verdict:
    """The verdict of a fresh calibration."""
    project, name = bug.folder.name.split(".")[0].rsplit("-", 1)[0], bug.folder.name
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            known = calibration_of(Path(folder), backend, bug.task, bug.oracle)
    except OracleError as error:
        return Verdict(project, name, number, "cannot-be-graded", "cannot-be-graded", error.message)
    ready = time.monotonic()
    grader = Grader(bug.task, bug.oracle, Limits(), known)
    grade = grader.grade(backend, gold)
    done = time.monotonic()
    empty, shown = grader.grade_untouched(backend), known.behaviour
    known_by = shown or Behaviour()
    return Verdict(
        project, name, number, grade.reason, empty.reason, grade.detail, grade.weaknesses, len(known_by.right),
        len(known_by.calls.sources), len(known_by.novel), len(known_by.unseen), known_by.mutants,
        round(ready - began, 1), round(done - ready, 1),
    )  # fmt: skip


def verdicts(runs: Sequence[Path], bugs: int, times: int, kept: Kept, workers: int) -> Iterator[Verdict]:
    """Of the first bugs of each run, calibrated so often."""
    backend = open_backend()
    try:
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(lambda job: _kept(job[0], job[1], kept, backend), _jobs(runs, bugs, times))
    finally:
        backend.close()


def _jobs(runs: Sequence[Path], bugs: int, times: int) -> Iterator[tuple[Path, int]]:
    for number in range(times):
        for run in runs:
            yield from ((folder, number) for folder in sorted((run / "bugs").iterdir())[:bugs])


def _kept(folder: Path, number: int, kept: Kept, backend: Backend) -> Verdict:
    key = (folder.name, number)
    known = kept.of(key)
    if known is not None:
        return Verdict(**{**known, "weaknesses": tuple(known["weaknesses"])})
    stored, artifact, _ = read_bug(folder)
    bug = gradable(folder, prepared_for(folder, stored, backend))
    made = verdict(bug, patches.reverse(artifact.bug_inject), number, backend)
    kept.add(key, asdict(made))
    return made


def sheet(found: Sequence[Verdict]) -> Sheet:
    """The counts, and why bugs are weakly assured."""
    weak = {one.bug for one in found if one.weaknesses or one.gold != "resolved"}
    every = {one.bug for one in found}
    why = Counter(reason for one in found for reason in one.weaknesses)
    projects = sorted({one.project for one in found})
    full = {name: {one.bug for one in found if one.project == name} - weak for name in projects}
    figures = (
        Figure("calibrations", len(found), ""),
        at_least("gold patches resolved", sum(one.gold == "resolved" for one in found), len(found), ""),
        at_most("untouched worlds resolved", sum(one.empty == "resolved" for one in found), 0, ""),
        at_least("bugs fully assured by every calibration", 100 * len(every - weak) / len(every), ENOUGH, "%"),
        *(Figure(f"of {name}", len(bugs), "bugs") for name, bugs in full.items()),
        Figure("mutants", sum(one.mutants for one in found), ""),
        Figure("mutants that no call shows", sum(one.unseen for one in found), ""),
        Figure("seconds of a calibration", sum(one.calibrating for one in found) / len(found), "s"),
        Figure("seconds of a gold grade", sum(one.grading for one in found) / len(found), "s"),
    )
    note = "; ".join(f"{count} x {reason}" for reason, count in why.most_common(8))
    return Sheet(f"right repairs over calibrations, {len(every)} bugs of {len(projects)} projects", figures, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of finished runs")
    parser.add_argument("--bugs", type=int, default=sys.maxsize, help="bugs per run; by default all")
    parser.add_argument("--times", type=int, default=TIMES, help="calibrations of each bug")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verdicts", type=Path, help="a file in which each verdict is kept")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    found = []
    for one in verdicts(chosen.runs, chosen.bugs, chosen.times, Kept(chosen.verdicts), chosen.workers):
        found.append(one)
        said = "; ".join(one.weaknesses) or one.detail
        print(f"{one.bug} {one.number}: {one.gold}, untouched {one.empty}; {said}", file=sys.stderr, flush=True)
    report([sheet(found)], chosen.json)
    sys.exit(any(one.gold != "resolved" or one.empty == "resolved" for one in found))


if __name__ == "__main__":
    main()
