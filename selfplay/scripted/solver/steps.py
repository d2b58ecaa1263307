"""The scripted solver's tool calls: prepare, look at the failing tests, try repairs, submit."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from selfplay import patches
from selfplay.agent.actions import Call
from selfplay.patches import is_test_file
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.policy import Script, Stuck
from selfplay.scripted.solver import inside
from selfplay.scripted.solver.repair import Repair
from selfplay.scripted.solver.reports import Looked, RepairResult, Results

FOLDER = "/tmp/solver"
ROOT = "/testbed"
MOST_SOURCES = 4_000_000
"""Characters of source that are read for hints and for code to reuse."""
MOST_TEST_FILES = 400
LOOK_SECONDS, MOST_SECONDS, AROUND_SECONDS = 100.0, 115.0, 15.0
"""By the clock: what a look may take, what trying repairs may, and what pytest takes of that before and after."""
WAITS = 4.0
"""How many times as long as its seconds of a core a piece of work may take by the clock."""
T = TypeVar("T")
_LINE = re.compile(r"[0-9]{1,9}")
_OFF = "-p no:cacheprovider -p no:xdist -p no:randomly -p no:random_order -p no:pytest_cov -p no:timeout -p no:sugar"
_READ = """
import json
texts, left = {}, %d
for path in json.load(open("/tmp/solver/files.json")):
    try:
        text = open(path, encoding="utf-8", newline="").read()
    except (OSError, UnicodeDecodeError):
        continue
    left -= len(text)
    if left < 0:
        break
    texts[path] = text
print(json.dumps(texts))
"""


@dataclass(frozen=True)
class TriedRepair:
    """The result of a repair. `state`: ran, broken (its file cannot be loaded) or late; `passed`: those of the failing
    tests that pass; `clean`: all failing tests pass and no other test that was run fails."""

    repair: Repair
    state: str
    passed: tuple[str, ...]
    clean: bool


def prepare(specification: str) -> Script[list[str]]:
    """Apply the specification to the tree; returns its test files. Raises `Stuck` when Python or pytest is missing."""
    done = yield from tools.bash("python -c 'import pytest'")
    if not done.ok:
        raise Stuck("there is no Python with pytest here")
    for name in ("selfplay_job", "selfplay_look", "selfplay_try", "selfplay_renew"):
        yield from tools.create(f"{FOLDER}/{name}.py", inside.text(f"{name}.py"))
    yield from tools.create(f"{FOLDER}/specification.diff", specification)
    yield from restore_tests()
    paths = patches.touched_paths(specification)
    return [path for path in paths if path.endswith(".py")]


def restore_tests() -> Script[None]:
    done = yield from tools.bash(f"git apply {FOLDER}/specification.diff")
    if not done.ok:
        raise Stuck(f"the specification does not apply: {done.output[-500:]}")


def start_over() -> Script[None]:
    """The tree as it was given."""
    yield from tools.bash("git reset --hard --quiet && git clean -fdq")


def python_files() -> Script[list[str]]:
    listed = yield from tools.packed("git ls-files -z '*.py' && git ls-files -z --others --exclude-standard '*.py'")
    return [path for path in listed.split("\0") if path]


def read_sources(paths: Sequence[str]) -> Script[dict[str, str]]:
    yield from tools.create(f"{FOLDER}/files.json", json.dumps(list(paths)) + "\n")
    text = yield from tools.packed(f"python -c {shlex.quote(_READ % MOST_SOURCES)}")
    return tools.told(dict[str, str], text)


def look(files: Sequence[str], trace_seconds: float = 4.0) -> Script[Looked]:
    """Run the restored test files. Raises `Stuck` when pytest cannot."""
    job = {"do": "look", "seconds": 20.0, "trace_seconds": trace_seconds, "most": 12}
    report = yield from _job(Looked, job, files, LOOK_SECONDS)
    counted = [lines for traced in (report.failing, report.passing) for lines in traced.lines.values()]
    if not all(_LINE.fullmatch(line) for lines in counted for line in lines):
        raise Stuck("the report numbers lines in words")
    return report


@dataclass(frozen=True)
class TrialLimits:
    """`core_seconds` of all repairs together; of one repair `each` core seconds, and `waits` seconds by the clock."""

    core_seconds: float
    each: float
    waits: float


def try_out(
    repairs: Sequence[Repair],
    failing: Sequence[str],
    mended: Sequence[str],
    files: Sequence[str],
    *,
    warm: Sequence[str],
    limits: TrialLimits,
) -> Script[list[TriedRepair]]:
    """Try the repairs in order until one is clean or the limit of all is reached. `failing` fail now, `mended` failed
    before; a clean repair makes all of them pass."""
    wanted = [*failing, *mended]
    job = {
        "do": "try",
        "candidates": [
            [[path, cut.start, cut.end, list(cut.lines)] for path, cut in repair.edits] for repair in repairs
        ],
        "failing": wanted,
        "screen": screen(failing),
        "warm": list(warm),
        "seconds": limits.core_seconds,
        "each": limits.each,
        "waits": limits.waits,
        "enough": 1,
        "suite_seconds": 15.0,
    }
    report = yield from _job(Results, job, files, min(MOST_SECONDS, WAITS * limits.core_seconds + 55))
    if any(result.number not in range(len(repairs)) for result in report.results):
        raise Stuck("the report names a repair that was not tried")
    return [_tried(repairs[result.number], result, len(wanted)) for result in report.results]


def screen(failing: Sequence[str], most: int = 6) -> list[str]:
    """A few failing tests that represent all: different functions first."""
    first: dict[str, str] = {}
    for test in failing:
        first.setdefault(test.split("[")[0], test)
    rest = [test for test in failing if test not in first.values()]
    return [*first.values(), *rest][:most]


def _tried(repair: Repair, result: RepairResult, failing: int) -> TriedRepair:
    clean = len(result.passed) == failing and not result.regressed
    return TriedRepair(repair, result.state, tuple(result.passed), clean)


def _job(kind: type[T], job: Mapping[str, object], files: Sequence[str], timeout: float) -> Script[T]:
    """One start of pytest; repeated without the repository's own options if pytest does not know them."""
    job = {**job, "within": timeout - AROUND_SECONDS}
    yield from tools.create(f"{FOLDER}/job.json", json.dumps(job) + "\n")
    plain = "" if job["do"] == "look" else "--assert=plain"  # explaining a comparison takes longer than failing
    names = " ".join(shlex.quote(path) for path in files)
    run = (
        f"export SOLVER_FOLDER={FOLDER} PYTHONPATH={FOLDER} PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0; "
        f"rm -f {FOLDER}/report.json; go() {{ "
        f"python -m pytest -q -p selfplay_job {_OFF} {plain} --continue-on-collection-errors "
        f'"$@" {names} >{FOLDER}/log 2>&1; }}; go || [ -s {FOLDER}/report.json ] || go -o addopts=; '
        f"tail -c 1500 {FOLDER}/log; test -s {FOLDER}/report.json"
    )
    done = yield from tools.bash(run, timeout)
    if not done.ok:
        raise Stuck(f"the tests cannot be run: {done.output[-1500:]}")
    return tools.told(kind, (yield from tools.packed(f"cat {FOLDER}/report.json")))


def test_files(paths: Sequence[str], first: Sequence[str]) -> list[str]:
    """The files that probably contain tests, those of the specification first."""
    found = [path for path in paths if is_test_file(path) and _collects(path.rsplit("/", 1)[-1])]
    return [*first, *(path for path in found if path not in first)][:MOST_TEST_FILES]


def _collects(name: str) -> bool:
    return name.startswith("test") or name.endswith(("_test.py", "_tests.py"))


def write(made: Sequence[PlantedChange]) -> Script[None]:
    for change in made:
        yield from tools.make_change(change)


def hand_in(made: Sequence[PlantedChange]) -> Script[None]:
    """Submit the tree as it was given, with only these changes."""
    yield from start_over()
    yield from write(made)
    yield from tools.bash("git --no-pager diff --stat")
    yield Call("submit", {"folder": ROOT})
