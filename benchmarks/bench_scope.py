"""How often ordinary repairs do what the scope layer calls too much: fixes in the history of real projects.

A commit whose message speaks of a fix is taken for the patch, its parent for both the buggy program and the original,
so that what it changes in functions does not count; what does is new code that runs while a module is loaded, new
attributes of classes that were there, other bases or decorators, and statements outside of functions.
`python -m benchmarks.bench_scope CLONE FOLDER [--commits 700] [--json]`: a clone, and its folder of code.
"""

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, Sheet, report
from selfplay.oracle.rewriting.patch_scope import beyond

KINDS = {
    "runs code while the module is loaded": "new code runs while a module is loaded",
    "is new in a class": "a new attribute of a class that was there",
    "the bases or decorators": "other bases or decorators",
    "the signature of": "another signature of a function that was there",
    "is bound anew": "a name of its own for a builtin or an import that the file uses",
    "stands outside of functions": "a statement outside of functions",
}
FIXES = re.compile(r"\bfix|bug|issue|correct", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("folder")
    parser.add_argument("--commits", type=int, default=700)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    report([sheet(chosen.clone, chosen.folder, chosen.commits)], chosen.json)


def sheet(clone: Path, folder: str, most: int) -> Sheet:
    """The fixes among the last commits, and how many of them do each."""
    every = [beyond_of(clone, commit, folder) for commit in fixes(clone, most)]
    told = [said for said in every if said is not None]
    found = [Figure(name, sum(any(words in one for one in said) for said in told), "") for words, name in KINDS.items()]
    return Sheet(f"fixes in the history of {clone.name}", (Figure("fixes that change its code", len(told), ""), *found))


def fixes(clone: Path, most: int) -> Iterator[str]:
    for line in _git(
        clone, "log", "--no-merges", "--min-parents=1", f"--max-count={most}", "--format=%H %s"
    ).splitlines():
        commit, _, summary = line.partition(" ")
        if FIXES.search(summary):
            yield commit


def beyond_of(clone: Path, commit: str, folder: str) -> list[str] | None:
    """What a commit does beyond its functions; None if it changes no code."""
    names = _git(clone, "diff-tree", "-r", "-z", "--name-only", "--no-commit-id", "--diff-filter=M", commit).split("\0")
    paths = [path for path in names if path.startswith(f"{folder}/") and path.endswith(".py")]
    before, after = ({path: _git(clone, "show", f"{at}:{path}") for path in paths} for at in (f"{commit}^", commit))
    return beyond(before, after, before) if after else None


def _git(clone: Path, *asked: str) -> str:
    found = subprocess.run(["git", "-C", str(clone), *asked], capture_output=True, check=True)
    return found.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
