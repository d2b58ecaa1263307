"""A blind reading: would a maintainer believe our bugs, beside those of SWE-smith's procedural generator?

`python -m benchmarks.bench_blind make FOLDER [--project SOURCE]... [--each N]` makes `N` bugs a project of each kind,
ours by script and SWE-smith's that pass its own check (`bench_peer.py`), and writes their diffs under numbers drawn by
lot. A reader who does not know which is which gives each a line of JSON: {"number": 1, "believable": 1 to 5, "hard": 1
to 5, "why": "..."}. `python -m benchmarks.bench_blind scores FOLDER FILE [--json]` then tells them apart.

Believable: 1, nobody would write this by mistake; 5, a slip that could stand in a pull request. Hard: how much it takes
to find and repair, from a failing test.
"""

import argparse
import json
import random
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bench_bugs import PROJECTS
from benchmarks.bench_peer import Tally, candidates, install, play
from benchmarks.figures import Figure, Sheet, report
from benchmarks.ours import selfplay
from selfplay.repository import measure_suite, prepare
from selfplay.sandbox import Backend, open_backend

EACH, SEED, TRIED = 10, 11, 6
"""Bugs a project of each kind; what the order is drawn by; how many candidates of SWE-smith are tried for a bug."""
AGAIN = "python -m benchmarks.bench_blind make"
_INDEX = re.compile(r"^(?:index [0-9a-f]|similarity index ).*\n", re.MULTILINE)


Made = list[tuple[str, str]]
"""(who made it, the diff) of bugs."""


def ours(source: str, out: Path, each: int) -> Made:
    """So many bugs that the script makes, by strategy."""
    selfplay("curriculum", source, "--out", out, "--bugs", each, "--seed", SEED, again=AGAIN)
    found = sorted(out.glob("bugs/*/bug_inject.diff"))[:each]
    return [(f"selfplay, {path.parent.name.split('.')[-2]}", path.read_text()) for path in found]


def theirs(source: str, each: int, backend: Backend) -> Made:
    """So many candidates of SWE-smith under which some test fails and some passes."""
    prepared = prepare(source, backend=backend)
    suite, found = measure_suite(prepared, backend), Made()
    for change in candidates(install(), prepared, each * TRIED):
        artifact = play(change, prepared, suite, backend, Tally())
        found += [("SWE-smith", artifact.bug_inject)] if artifact else []
        if len(found) == each:
            break
    return found


def make(folder: Path, projects: Sequence[str], each: int) -> None:
    """Write the diffs by number, and who made which. What was made before is not made again."""
    backend, drawn = open_backend(), list[tuple[str, str, str]]()
    for at, source in enumerate(projects):
        kept = folder / f"project-{at}.json"
        if not kept.exists():
            made = [*ours(source, folder / f"ours-{at}", each), *theirs(source, each, backend)]
            kept.write_text(json.dumps(made))
        drawn += [(who, source, diff) for who, diff in json.loads(kept.read_text())]
    backend.close()
    random.Random(SEED).shuffle(drawn)
    for number, (_, source, diff) in enumerate(drawn, 1):
        (folder / f"{number:02}.diff").write_text(f"# {source.removeprefix('pypi:')}\n{_INDEX.sub('', diff)}")
    (folder / "key.json").write_text(json.dumps({number: who for number, (who, _, _) in enumerate(drawn, 1)}))


def sheet(folder: Path, scores: Path) -> Sheet:
    """The table of a reader's scores."""
    key = json.loads((folder / "key.json").read_text())
    found = {str(one["number"]): one for one in map(json.loads, scores.read_text().splitlines())}
    if missing := key.keys() - found.keys():
        raise SystemExit(f"{scores} says nothing of {', '.join(sorted(missing, key=int))}")
    rows = list[Figure]()
    for who in sorted({*key.values()}):
        of = [found[number] for number in key if key[number] == who]
        for what in ("believable", "hard"):
            values = [int(one[what]) for one in of]
            rows.append(Figure(f"{who}: {what}, mean of {len(of)}", statistics.fmean(values), "of 5"))
            rows.append(Figure(f"{who}: {what}, at least 4", 100 * sum(one >= 4 for one in values) / len(of), "%"))
    return Sheet("A blind reading", tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    does = parser.add_subparsers(dest="what", required=True)
    making, scoring = does.add_parser("make"), does.add_parser("scores")
    making.add_argument("folder", type=Path)
    making.add_argument("--project", action="append")
    making.add_argument("--each", type=int, default=EACH)
    scoring.add_argument("folder", type=Path)
    scoring.add_argument("scores", type=Path)
    scoring.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.what == "scores":
        report([sheet(asked.folder, asked.scores)], asked.json)
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    make(asked.folder, asked.project or PROJECTS, asked.each)


if __name__ == "__main__":
    main()
