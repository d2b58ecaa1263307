"""Are repairs refused for what their authors leave beside them?

`python -m benchmarks.bench_leftovers RUN... [--bugs N] [--json]`: for bugs of finished runs, the gold patch beside each
kind of leftovers of `tests/exploits/leftovers.py` is graded as a user's prediction is. None may be unresolved.
"""

import argparse
import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Sheet, at_most, report
from selfplay import patches
from selfplay.commands.grade import gradable, grader_of
from selfplay.curriculum.stored import prepared_for, read_bug
from selfplay.oracle.originals import original_texts
from selfplay.patches import is_test_file
from selfplay.plain import encode
from selfplay.sandbox import Backend, open_backend

TESTS = Path(__file__).parents[1] / "tests"
BUGS = 2
_QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent", "PATH": "/usr/local/bin:/usr/bin:/bin"}


def _git(tree: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["git", "-c", "core.quotePath=true", *arguments]
    return subprocess.run(command, cwd=tree, input=stdin, capture_output=True, check=True, env=_QUIET).stdout


def prediction(original: Path, broken: Sequence[str], gold: str, leave: Any) -> bytes:
    """The diff of the gold patch and the leftovers, as `git add -A` and `git diff` make it in the broken tree."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(original, tree, symlinks=True)
        _git(tree, "init", "-q")
        for diff in broken:
            _git(tree, "apply", "--whitespace=nowarn", "-", stdin=encode(diff))
        _git(tree, "add", "-Af")
        before = _git(tree, "write-tree").decode().strip()
        _git(tree, "apply", "--whitespace=nowarn", "-", stdin=encode(gold))
        leave(tree)
        _git(tree, "add", "-Af")
        return _git(tree, "diff", "--binary", before, _git(tree, "write-tree").decode().strip())


def grades(folder: Path, original: Path, backend: Backend) -> Iterator[tuple[str, bool, str]]:
    """(kind, resolved, why not) for every kind of leftovers, at one bug."""
    left = importlib.import_module("exploits.leftovers")
    bug, artifact, _ = read_bug(folder)
    ready = gradable(folder, prepared_for(folder, bug, backend))
    grader = grader_of(ready, backend)
    gold = patches.reverse(artifact.bug_inject)
    program = next(path for path in patches.touched_paths(gold) if not is_test_file(path))
    shown = original_texts(ready.task.world, patches.touched_paths(artifact.test_weaken))
    of = left.Bug(program, artifact.test_files, shown)
    for kind, leave in left.LEFTOVERS.items():
        made = prediction(original, ready.task.diffs, gold, lambda root, leave=leave: leave(of, root))
        grade = grader.grade(backend, made)
        yield kind, grade.resolved, f"{grade.reason}: {grade.detail}"


def measured(runs: Sequence[Path], bugs: int) -> Sheet:
    """The leftovers beside the gold patches of the first bugs of each run."""
    sys.path.insert(0, str(TESTS))
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
