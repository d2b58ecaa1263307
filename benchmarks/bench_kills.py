"""Kills at random moments of whole runs: the same pool and the same attempts as without, byte for byte?

`python -m benchmarks.bench_kills [--kills N] [--kind KIND]... [--source SOURCE] [--seed S] [--keep FOLDER] [--json]`.

A curriculum and attempts at its bugs are made once without a kill, by the scripts (the naive one solves, whose attempts
are short). Then the same is made over and over while something is killed, N times of each kind, half in `curriculum`
and half in `solve` in turn; the moments are drawn from a seed, about `EACH` to a run, twice as many where one job alone
is lost. Kinds: the whole process (KILL, TERM, INT), which is then started again with the same command; the launcher; an
agent; all agents at once; one process inside a sandbox; and, where DOCKER_HOST is set, the Docker engine, which is
started again 2 s later. The kinds take turns, `ROUND` kills each. With `--keep` a benchmark that is stopped goes on
where it was.

What is compared: every file of every bug's folder (but the calibration, which holds random names), `bug.json` without
the seconds and the number of runs of its verdicts; and the rows of the episodes that were taken and of the attempts,
without their figures. Not compared: wall times, and what depends on which of two episodes was first to be checked. A
run hangs when it takes ten times as long as without kills, and at least 200 s; it ends early when it does not exit as
the first did. Every third of the runs of `curriculum` measures the suite and makes the survey anew.
"""

import argparse
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.figures import report
from benchmarks.kills_found import Found, kept, sheet
from benchmarks.runs_compared import State, difference, state
from benchmarks.striking import KINDS, struck_while_running

ROOT = Path(__file__).parent.parent
KILLS, ROUND, BUGS, ATTEMPTS, WORKERS = 100, 20, 3, 2, 2
EACH, SOLVER = 4, "naive"
ONE_JOB = ("agent", "one inside")
LEAST_SECONDS = 200.0
IN_VAIN = 4
"""Runs in a row in which nothing was there to be killed: then the benchmark itself is wrong."""


@dataclass(frozen=True)
class Undisturbed:
    """One of the two commands without a kill: how it ended, and its seconds."""

    name: str
    end: State
    seconds: float


class Bench:
    """The undisturbed runs, and the runs with kills."""

    def __init__(
        self,
        folder: Path,
        source: str,
        seed: int,
        sandbox: str = "bubblewrap",
        cache: Path | None = None,
        bugs: int = BUGS,
        attempts: int = ATTEMPTS,
    ) -> None:
        self.folder, self.source, self.seed, self.sandbox = folder, source, seed, sandbox
        self.bugs, self.attempts = bugs, attempts
        self.cache = cache or folder / f"cache-{sandbox}"
        self.made = folder / f"bugs-{sandbox}"

    def prepare(self) -> None:
        """Make the undisturbed runs, unless they are there. Raises `RuntimeError` when they cannot be made."""
        there = self.folder / f"undisturbed-{self.sandbox}.json"
        if not there.exists():
            there.write_text(json.dumps([asdict(one) for one in self._made()]))
        self.commands = [Undisturbed(**one) for one in json.loads(there.read_text())]

    def _made(self) -> Iterator[Undisturbed]:
        solved = self.folder / f"solved-{self.sandbox}"
        for old in (self.made, solved):
            shutil.rmtree(old, ignore_errors=True)
        if not self.cache.exists():
            self._undisturbed("curriculum", self.made)  # builds the environment
            shutil.rmtree(self.made)
        seconds = self._undisturbed("curriculum", self.made)
        yield Undisturbed("curriculum", state(self.made), seconds)
        shutil.copytree(self.made, solved)
        seconds = self._undisturbed("solve", solved)
        yield Undisturbed("solve", state(solved), seconds)

    def _arguments(self, command: str, out: Path) -> list[str]:
        asked = {
            "curriculum": [self.source, "--out", out, "--bugs", self.bugs, "--seed", 3],
            "solve": [out, "--policy", SOLVER, "--attempts", self.attempts],
        }[command]
        return [command, *map(str, asked), "--workers", str(WORKERS), "--sandbox", self.sandbox]

    def _undisturbed(self, command: str, out: Path) -> float:
        started = time.monotonic()
        with self._running(command, out) as process:
            if process.wait(600) != 0:
                raise RuntimeError(f"without a kill, {command} ends with {process.returncode}: {said(out)}")
        return time.monotonic() - started

    @contextmanager
    def _running(self, command: str, out: Path) -> Iterator[psutil.Popen]:
        env = {**os.environ, "SELFPLAY_CACHE": str(self.cache), "PYTHONPATH": str(ROOT)}
        with said_to(out).open("ab") as words:
            process = psutil.Popen(
                [sys.executable, "-m", "selfplay", *self._arguments(command, out)],
                stdout=words,
                stderr=words,
                env=env,
                cwd=ROOT,
            )
            try:
                yield process
            finally:
                if process.is_running():
                    process.kill()
                process.wait()

    def kind(self, kind: str, kills: int) -> Found:
        """Runs with kills of that kind, until there were so many; those of an earlier benchmark in the folder count."""
        path = self.folder / f"found-{kind.replace(' ', '-')}.json"
        found, in_vain = kept(path), 0
        while (left := kills - found.kills) > 0:
            command = min(self.commands, key=lambda one: found.by_command.get(one.name, 0))
            each = EACH * (2 if kind in ONE_JOB else 1)
            struck = self._one(kind, command, min(each, left), command.seconds / (each + 1), found)
            found.keep(path)
            print(
                f"{kind}: {found.kills} kills, {found.same} of {found.runs} runs the same", file=sys.stderr, flush=True
            )
            in_vain = 0 if struck else in_vain + 1
            if in_vain == IN_VAIN:
                raise RuntimeError(f"nothing was found to kill in {IN_VAIN} runs: {kind}")
        return found

    def _one(self, kind: str, command: Undisturbed, most: int, mean: float, found: Found) -> int:
        """One run with at most so many kills, one every `mean` seconds; returns how many there were."""
        out = self.folder / f"run-{kind.replace(' ', '-')}-{found.runs}"
        shutil.rmtree(out, ignore_errors=True)
        said_to(out).unlink(missing_ok=True)
        if command.name == "solve":
            shutil.copytree(self.made, out)
        elif found.runs % 3 == 0:
            self._forget_measurements()
        moments = random.Random(f"{self.seed} {kind} {found.runs}")
        deadline = time.monotonic() + max(LEAST_SECONDS, 10 * command.seconds)
        struck, ended = 0, False
        while not ended:
            with self._running(command.name, out) as process:
                more, ended = struck_while_running(kind, process, most - struck, moments, mean, deadline)
                struck, code = struck + more, process.poll()
        found.runs += 1
        found.count(command.name, struck)
        self._judge(command, out, code, found)
        return struck

    def _judge(self, command: Undisturbed, out: Path, code: int | None, found: Found) -> None:
        """Count how a run ended; what is left of a good one is removed."""
        where = f"{command.name} in {out}"
        if code is None:
            found.hung.append(f"{where}: {said(out)}")
        elif code != 0:
            found.early.append(f"{where}: {code}: {said(out)}")
        elif other := difference(command.end, state(out)):
            found.different.append(f"{where}: {other}")
        else:
            found.same += 1
            shutil.rmtree(out)
            said_to(out).unlink()

    def _forget_measurements(self) -> None:
        """Make the next run measure the suite and make the survey anew."""
        for path in [*self.cache.rglob("suite-*"), *self.cache.glob("surveys/*")]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def said_to(out: Path) -> Path:
    """Where a run's output is kept."""
    return out.with_suffix(".txt")


def said(out: Path) -> str:
    """The end of a run's output."""
    return said_to(out).read_text("utf-8", "replace")[-400:]


def little_repository(folder: Path) -> Path:
    """The repository of the tests, whose suite takes a moment."""
    if not folder.exists():
        sys.path.append(str(ROOT / "tests"))
        importlib.import_module("tiny_repository").make(folder)
    return folder


def measured(asked: argparse.Namespace, folder: Path) -> dict[str, Found]:
    """Kind -> what came of its runs."""
    kinds = asked.kind or [
        one for one in KINDS if one != "mixed" and (one != "engine" or os.environ.get("DOCKER_HOST"))
    ]
    folder.chmod(0o755)
    found: dict[str, Found] = {}
    for sandbox in dict.fromkeys("docker" if kind == "engine" else "bubblewrap" for kind in kinds):
        source = asked.source or str(little_repository(folder / f"shop-{sandbox}"))
        bench = Bench(folder, source, asked.seed, sandbox=sandbox)
        bench.prepare()
        on_it = [kind for kind in kinds if (kind == "engine") == (sandbox == "docker")]
        for kills in range(ROUND, asked.kills + ROUND, ROUND):
            found |= {kind: bench.kind(kind, min(kills, asked.kills)) for kind in on_it}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--source", default="", help="the tests' little repository if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="work in this folder, keep it, and go on with what it holds")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
        report([sheet(measured(asked, asked.keep))], asked.json)
        return
    with tempfile.TemporaryDirectory() as folder:
        report([sheet(measured(asked, Path(folder)))], asked.json)


if __name__ == "__main__":
    main()
