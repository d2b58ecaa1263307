"""What grading an attempt costs, in runs of the suite: with every layer, and without the counterfactual run.

`python -m benchmarks.bench_grade [--project SOURCE]... [--bugs N] [--json]`.

Eight attempts at each bug are graded, as a solver group is: the gold patch, which passes every layer and so costs the
most. All core seconds count. A bug's calibration is stored beside it, and every attempt of every process uses it: it is
given apart, and then with an eighth of it in each attempt. A suite run is what a grader without any defence would do
for an attempt: a fresh sandbox, the diffs, the bug's own script once, its parser. So the floor is one run, or two with
the counterfactual. Bare runs of pytest, in a sandbox that is already there and warm, are given beside it. All three are
measured by turns.
"""

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare import Bare, bare_command, warmed
from benchmarks.figures import Figure, Sheet, at_least, at_most, report_projects
from selfplay.commands.cost import cpu_seconds
from selfplay.commands.curriculum import run_curriculum
from selfplay.commands.grade import gradable, grader_of
from selfplay.commands.order import Order
from selfplay.curriculum.calibrations import CALIBRATION_FILE
from selfplay.curriculum.stored_bugs import MOST_SECONDS, read_bug, task_of
from selfplay.oracle.trial import TrialOrder as TrialOrder
from selfplay.oracle.trial import run_trial
from selfplay.patches import reverse
from selfplay.repository import Prepared, measure_suite, prepare
from selfplay.sandbox import Backend, open_backend

PROJECTS = ("pypi:sqlparse==0.5.3", "pypi:boltons==25.0.0", "pypi:jinja2==3.1.6")
BUGS, ATTEMPTS = 3, 8
MOST = {False: 1.5, True: 2.6}
"""Suite runs an attempt may cost, by whether a second look is taken: probes of behaviour and the counterfactual."""


@dataclass(frozen=True)
class Graded:
    """Core seconds: `graded` of all attempts together, `calibrated` of each bug's calibration, `plain` of each run
    without a defence."""

    attempts: int
    resolved: int
    graded: float
    calibrated: tuple[float, ...]
    plain: tuple[float, ...]


def grade_all(folders: Sequence[Path], prepared: Prepared, backend: Backend, bare: Bare, asked: bool) -> Graded:
    """Grade the gold patch of every bug as often as a group attempts it."""
    spent, resolved, calibrated, plain = 0.0, 0, list[float](), list[float]()
    for folder in folders:
        bug, artifact, _ = read_bug(folder)
        gold = reverse(artifact.bug_inject)
        task = task_of(folder, bug, artifact, prepared.world())
        before = cpu_seconds()
        (folder / CALIBRATION_FILE).unlink(missing_ok=True)  # the first attempt of a group makes it
        grader = grader_of(gradable(folder, prepared), backend, counterfactual=asked)
        calibrated.append(cpu_seconds() - before)
        for _ in range(ATTEMPTS):
            before = cpu_seconds()
            resolved += grader.grade(backend, gold).resolved
            done = cpu_seconds()
            run_trial(backend, task.world, artifact, TrialOrder((*task.diffs, gold), MOST_SECONDS))
            spent += done - before
            plain.append(cpu_seconds() - done)
            bare.run()
    return Graded(len(folders) * ATTEMPTS, resolved, spent, tuple(calibrated), tuple(plain))


def sheets(projects: Sequence[str] = PROJECTS, bugs: int = BUGS) -> Iterator[Sheet]:
    """A table per project."""
    backend = open_backend()
    for source in projects:
        yield _sheet(source, bugs, backend)


def _sheet(source: str, bugs: int, backend: Backend) -> Sheet:
    prepared = prepare(source, backend=backend)
    suite = measure_suite(prepared, backend)
    with backend.open(prepared.world()) as sandbox, tempfile.TemporaryDirectory() as folder:
        bare = Bare(sandbox, bare_command(suite.files))
        warmed(bare, prepared)
        run_curriculum(Order(source, Path(folder), bugs, workers=1), backend, bare)
        folders = sorted(Path(folder, "bugs").iterdir())
        found = {asked: grade_all(folders, prepared, backend, bare, asked) for asked in MOST}
    worth = statistics.median(bare.core)
    run = statistics.median([*found[False].plain, *found[True].plain])
    lines = [Figure("a suite run, core", run, "core s"), Figure("a bare run, core", worth, "core s")]
    for asked, graded in found.items():
        name, attempt = "with" if asked else "without", graded.graded / graded.attempts
        shared = attempt + sum(graded.calibrated) / graded.attempts
        lines.append(at_most(f"suite runs an attempt, {name} the counterfactual", attempt / run, MOST[asked], "runs"))
        lines.append(Figure(f"the same in bare runs, {name} it", attempt / worth, "runs"))
        lines.append(
            Figure(
                f"suite runs a calibration, once a bug, {name} it", statistics.fmean(graded.calibrated) / run, "runs"
            )
        )
        lines.append(Figure(f"suite runs an attempt with an eighth of one, {name} it", shared / run, "runs"))
        lines.append(at_least(f"gold patches resolved, {name} it", graded.resolved, graded.attempts, ""))
    return Sheet(
        f"grading, {source.removeprefix('pypi:')}, {ATTEMPTS} attempts at each of {len(folders)} bugs", tuple(lines)
    )


if __name__ == "__main__":
    report_projects(__doc__, sheets, PROJECTS, "bugs", BUGS)
