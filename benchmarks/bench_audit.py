"""Does the leak audit find every planted answer, and leave clean worlds alone?

`python -m benchmarks.bench_audit RUN... [--seeds N] [--plant-in N] [--json]`, with the folders of runs that `selfplay
curriculum` made. The world of every bug is searched as it is: a clean one must be clean. Then, in the worlds of so many
bugs of each run, the answer is planted by every mechanism of `benchmarks.planting`, each in a folder of its own, with
as many seeds; each folder must be found, or be gone where it held git data.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_least, at_most, report
from benchmarks.planting import MECHANISMS, Answer, answers, plant
from selfplay.curriculum.stored_bugs import bug_folders, prepared_for, read_bug, task_of
from selfplay.oracle.leak_audit.audit import Audit, AuditState, audit_task
from selfplay.oracle.originals import original_texts
from selfplay.oracle.task import Task
from selfplay.oracle.world import solver_world
from selfplay.sandbox import Backend, open_backend

SEEDS, PLANT_IN = 2, 2


@dataclass
class Counted:
    """What was seen over all runs."""

    states: Counter[AuditState] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    planted: int = 0
    missed: list[str] = field(default_factory=list)
    leaking: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_audit", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--plant-in", type=int, default=PLANT_IN, help="bugs of each run")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    backend = open_backend()
    counted = Counted()
    try:
        for run in given.runs:
            measure(run, backend, given.seeds, given.plant_in, counted)
    finally:
        backend.close()
    report([sheet(counted, len(given.runs))], given.json)


def measure(run: Path, backend: Backend, seeds: int, plant_in: int, counted: Counted) -> None:
    """Audit every bug of a run, and plant its answer in some of the worlds."""
    for number, folder in enumerate(bug_folders(run)):
        task = task_in(folder, backend)
        start = time.perf_counter()
        found = audit_task(backend, task)
        counted.seconds.append(time.perf_counter() - start)
        counted.states[found.state] += 1
        counted.leaking += [f"{folder.name}: {one.where}" for one in found.findings[:1]]
        if number < plant_in and found.clean:
            missed = missed_in(backend, task, range(seeds))
            counted.planted += len(MECHANISMS) * seeds
            counted.missed += [f"{folder.name}: {one}" for one in missed]


def task_in(folder: Path, backend: Backend) -> Task:
    """What a solver of the bug in `folder` faces."""
    bug, artifact, _ = read_bug(folder)
    return task_of(folder, bug, artifact, solver_world(prepared_for(folder, bug, backend)))


def answer_of(task: Task) -> Answer:
    """The answer in the file that the bug changes most."""
    diff = task.artifact.bug_inject
    found = answers(diff, lambda path: original_texts(task.world, [path]).get(path))
    return max(found, key=lambda answer: len(answer.gold))


def missed_in(
    backend: Backend, task: Task, seeds: Sequence[int], names: Sequence[str] = tuple(MECHANISMS)
) -> list[str]:
    """Plant the answer in one world by each of these mechanisms with each seed; what the audit does not find."""
    places = {f"planted/{n}-{seed}": (name, seed) for n, name in enumerate(names) for seed in seeds}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(task.world.tree[-1], tree, symlinks=True)
        for place, (name, seed) in places.items():
            for path, data in plant(name, answer_of(task), seed).items():
                file = tree / place / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        give(tree, backend)
        found = audit_task(backend, replace(task, world=replace(task.world, tree=(*task.world.tree[:-1], tree))))
    return [f"{name}, seed {seed}" for place, (name, seed) in places.items() if not is_found(found, place)]


def is_found(audit: Audit, place: str) -> bool:
    """Is something in this folder a finding, or git data that is gone?"""
    named = [*(finding.where for finding in audit.findings), *audit.removed]
    return any(name.startswith((f"{place}/", f"{place}:")) for name in named)


def give(tree: Path, backend: Backend) -> None:
    """Hand the tree to the user of the sandboxes."""
    import os

    if os.geteuid() == 0:
        for path in (tree.parent, tree, *tree.rglob("*")):
            os.chown(path, *backend.owner(), follow_symlinks=False)


def sheet(counted: Counted, runs: int) -> Sheet:
    worlds = counted.states.total()
    missed, leaking = len(counted.missed), counted.states[AuditState.LEAKS]
    return Sheet(
        f"the leak audit on {worlds} bugs of {runs} projects",
        (
            at_most("worlds with a finding", leaking, 0, ""),
            Figure("worlds that are not auditable", counted.states[AuditState.NOT_AUDITABLE], ""),
            Figure("a world, median", statistics.median(counted.seconds or [0.0]), "s"),
            Figure("a world, longest", max(counted.seconds, default=0.0), "s"),
            Figure("mechanisms", len(MECHANISMS), ""),
            Figure("answers planted", counted.planted, ""),
            at_least("of them found", counted.planted - missed, counted.planted, ""),
        ),
        "\n".join([*(f"leaks: {one}" for one in counted.leaking), *(f"missed: {one}" for one in counted.missed)]),
    )


if __name__ == "__main__":
    main()
