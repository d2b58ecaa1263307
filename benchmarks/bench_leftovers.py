"""Are repairs refused for what their authors leave beside them?

`python -m benchmarks.bench_leftovers RUN... [--bugs N] [--json]`: for bugs of finished runs, the gold patch beside each
kind of leftovers of `exploits/leftovers.py` is graded as a user's prediction is. None may be unresolved.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.exploits.bug import diff, git
from benchmarks.exploits.leftovers import LEFTOVERS, Bug, Leave
from benchmarks.figures import Figure, Sheet, at_most, report
from selfplay import patches
from selfplay.commands.grade import gradable, grader_of
from selfplay.curriculum.stored_bugs import prepared_for, read_bug
from selfplay.oracle.originals import original_texts
from selfplay.patches import is_test_file
from selfplay.plain_text import encode
from selfplay.sandbox import Backend, open_backend

BUGS = 2


def prediction(original: Path, broken: Sequence[str], gold: str, leave: Leave, bug: Bug) -> bytes:
    """The diff of the gold patch and the leftovers, made in the broken tree."""

    def edit(root: Path) -> None:
        git(root, "apply", "--whitespace=nowarn", "-", stdin=encode(gold))
        leave(bug, root)

    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(original, tree, symlinks=True)
        for one in broken:
            git(tree, "apply", "--whitespace=nowarn", "-", stdin=encode(one))
        return diff(tree, edit)


def grades(folder: Path, original: Path, backend: Backend) -> Iterator[tuple[str, bool, str]]:
    """(kind, resolved, why not) for every kind of leftovers, at one bug."""
    bug, artifact, _ = read_bug(folder)
    ready = gradable(folder, prepared_for(folder, bug, backend))
    grader = grader_of(ready, backend)
    gold = patches.reverse(artifact.bug_inject)
    program = next(path for path in patches.touched_paths(gold) if not is_test_file(path))
    shown = original_texts(ready.task.world, patches.touched_paths(artifact.weakening))
    of = Bug(program, artifact.test_files, shown)
    for kind, leave in LEFTOVERS.items():
        made = prediction(original, ready.task.diffs, gold, leave, of)
        grade = grader.grade(backend, made)
        yield kind, grade.resolved, f"{grade.reason}: {grade.detail}"


def measured(runs: Sequence[Path], bugs: int) -> Sheet:
    """The leftovers beside the gold patches of the first bugs of each run."""
    backend, graded, refused = open_backend(), 0, 0
    for run in runs:
        for folder in sorted((run / "bugs").iterdir())[:bugs]:
            for kind, resolved, why in grades(folder, run / "original", backend):
                graded, refused = graded + 1, refused + (not resolved)
                if not resolved:
                    print(f"{folder.name}, {kind}: {why}", file=sys.stderr)
    figures = (Figure("gold patches graded", graded, ""), at_most("not resolved", refused, 0, ""))
    return Sheet("repairs beside what agents leave behind", figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of finished runs")
    parser.add_argument("--bugs", type=int, default=BUGS, help="bugs per run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    report([measured(chosen.runs, chosen.bugs)], chosen.json)


if __name__ == "__main__":
    main()
