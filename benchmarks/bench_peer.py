"""SWE-smith's procedural generator on the same project, through our eight checks: what its bugs cost beside ours.

`python -m benchmarks.bench_peer [--project SOURCE] [--candidates N] [--json]`.

SWE-smith 0.0.9 is installed into an environment of its own in the cache. Only its generator is used: its own check
needs Docker images, so the check it makes (some test fails, some passes: one run of the whole suite) is made here in a
sandbox, which the figures count as its cost. What passes is weakened by removing the failing tests and goes through the
eight checks one after the other, as one would without an injector that looks first. Nothing but its generator differs
from our own path: same suite, same sandboxes, same checks, same meter.
"""

import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare import Bare, bare_command, warmed
from benchmarks.bench_bugs import PROJECTS
from benchmarks.figures import Figure, Sheet, report_projects
from selfplay.agent import Trajectory, play_episode
from selfplay.agent.tools import SSR_TOOLS
from selfplay.artifact import Artifact, ArtifactError
from selfplay.commands.cost import cpu_seconds
from selfplay.patches import is_test_file, parse
from selfplay.repository import Prepared, Suite, measure_suite, prepare
from selfplay.repository.cache import default_cache
from selfplay.repository.suites.runners import script_for
from selfplay.roles.injector.collect import collect
from selfplay.sandbox import Backend, Sandbox, open_backend
from selfplay.sandbox.workers import Workers
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector import steps
from selfplay.scripted.injector.submit import hand_in
from selfplay.scripted.injector.weaken import weaken
from selfplay.scripted.policy import Script, ScriptedPolicy
from selfplay.validators import validate
from selfplay.workbench import RunCache, Workbench

PEER = "swesmith[generate]==0.0.9"
CANDIDATES = 16
TEST_SECONDS = 10.0
NOTE = "Candidates of SWE-smith 0.0.9's procedural generator, one file each by its nature; nothing of its code is ours."


@dataclass
class Tally:
    """What came of the candidates. Core seconds: until its own check is made, and all."""

    candidates: int = 0
    seen: int = 0
    valid: int = 0
    checked_seconds: float = 0.0
    core_seconds: float = 0.0


def install() -> Path:
    """The Python of SWE-smith's environment, made once. Raises `CalledProcessError` with uv's words on stderr."""
    folder = default_cache() / "peers" / "swesmith-0.0.9"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--clear", "--quiet", "--python", sys.executable, folder], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, PEER], check=True)
        (folder / "complete").touch()
    return python


def candidates(python: Path, prepared: Prepared, count: int) -> list[PlantedChange]:
    """The first `count` changes its generator makes to the code files of a tree."""
    paths = (file.relative_to(prepared.tree).as_posix() for file in sorted(prepared.tree.rglob("*.py")))
    code = [path for path in paths if not is_test_file(path) and not path.startswith(("docs/", "examples/", "setup"))]
    program = Path(__file__).with_name("swesmith_candidates.py")
    command = [str(python), str(program), str(prepared.tree), "0", str(count), *code]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [
        PlantedChange(one["path"], (prepared.tree / one["path"]).read_text(), one["after"], (), one["what"])
        for one in found
    ]


def script(change: PlantedChange, prepared: Prepared, suite: Suite, tally: Tally) -> Script[None]:
    """Plant it, run the whole suite, and where some tests fail and some pass, remove those and hand in."""
    yield from steps.install_probe()
    yield from tools.create(change.path, change.after or "")
    found = yield from steps.run_tests(suite, sorted(suite.seconds), TEST_SECONDS, len(suite.seconds))
    if not found.ran or not found.failures or not found.passed:
        return
    tally.seen += 1
    tests = {path: (prepared.tree / path).read_text() for path in {failure.path for failure in found.failures}}
    weakened = weaken(tests, found.failures, {})
    if weakened:
        for one in weakened.changes:
            yield from tools.make_change(one)
        yield from hand_in(script_for(suite), suite.files, [change], weakened.changes)


async def played(policy: ScriptedPolicy, sandbox: Sandbox, role: str) -> Trajectory:
    """One episode."""
    with Workers(1) as workers:
        return await play_episode(policy, sandbox, role, toolset=SSR_TOOLS, workers=workers)


def play(change: PlantedChange, prepared: Prepared, suite: Suite, backend: Backend, tally: Tally) -> Artifact | None:
    with backend.open(prepared.world(history=True)) as sandbox:
        trajectory = asyncio.run(
            played(ScriptedPolicy("swesmith", script(change, prepared, suite, tally)), sandbox, "injector")
        )
        try:
            return collect(trajectory, sandbox)
        except ArtifactError:
            return None


def measure(source: str, count: int, backend: Backend) -> Iterator[Figure]:
    python, prepared = install(), prepare(source, backend=backend)
    suite, cache, tally, lines = measure_suite(prepared, backend), RunCache(), Tally(), []
    with ExitStack() as stack:
        bare = Bare(stack.enter_context(backend.open(prepared.world())), bare_command(suite.files))
        warmed(bare, prepared)
        bare.run()
        began = cpu_seconds()
        changes = candidates(python, prepared, count)
        tally.checked_seconds += cpu_seconds() - began
        for change in changes:
            before = cpu_seconds()
            artifact = play(change, prepared, suite, backend, tally)
            tally.checked_seconds += cpu_seconds() - before
            if artifact and validate(artifact, Workbench(backend, prepared.world(), artifact, shared=cache)).valid:
                tally.valid += 1
                lines.append(sum(part.added + part.removed for part in parse(artifact.bug_inject)))
        tally.candidates, tally.core_seconds = len(changes), cpu_seconds() - began
        bare.run()
        bare.run()
    yield from figures(tally, statistics.median(bare.core), lines)


def figures(tally: Tally, suite_seconds: float, lines: Sequence[int]) -> Iterator[Figure]:
    yield Figure("bare suite, core", suite_seconds, "core s")
    yield Figure("candidates", tally.candidates, "")
    yield Figure("candidates that pass its own check", 100 * tally.seen / tally.candidates, "%")
    yield Figure("candidates that pass all eight checks", 100 * tally.valid / tally.candidates, "%")
    yield Figure(
        "suite runs per bug by its own check", tally.checked_seconds / suite_seconds / max(1, tally.seen), "runs"
    )
    yield Figure("suite runs per bug by all eight", tally.core_seconds / suite_seconds / max(1, tally.valid), "runs")
    yield Figure("changed lines, median", statistics.median(lines) if lines else 0, "")


def sheets(projects: Sequence[str] = PROJECTS, count: int = CANDIDATES) -> Iterator[Sheet]:
    """A table per project; where SWE-smith cannot be had, one empty table that says so."""
    try:
        install()
    except (OSError, subprocess.CalledProcessError) as error:
        yield Sheet("SWE-smith 0.0.9", (), f"It could not be installed here: {error}")
        return
    backend = open_backend()
    for source in projects:
        found = tuple(measure(source, count, backend))
        yield Sheet(f"{source.removeprefix('pypi:')}, SWE-smith 0.0.9 procedural", found, NOTE)


if __name__ == "__main__":
    report_projects(__doc__, sheets, PROJECTS, "candidates", CANDIDATES)
