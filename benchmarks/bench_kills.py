"""Kills at random moments of whole runs: the same pool and the same attempts as without, byte for byte?

`python -m benchmarks.bench_kills [--kills N] [--kind KIND]... [--source SOURCE] [--seed S] [--json]`.

A curriculum and attempts at its bugs are made once without a kill, by the scripts. Then the same is made over and over
while something is killed, N times of each kind, half in `curriculum` and half in `solve`; the moments are drawn from a
seed, about `EACH` to a run. Kinds: the whole process (KILL, TERM, INT), which is then started again with the same
command; the launcher; an agent; all agents at once; one process inside a sandbox; and, where DOCKER_HOST is set, the
Docker engine, which is started again 2 s later.

What is compared: every file of every bug's folder (but the calibration, which holds random names), `bug.json` without
the seconds and the number of runs of its verdicts; and the rows of the episodes that were taken and of the attempts,
without their figures. Not compared: wall times, and what depends on which of two episodes was first to be checked. A
run hangs when it takes ten times as long as without kills, and at least 200 s; it ends early when it does not exit as
the first did. Every third of the runs of `curriculum` measures the suite and makes the survey anew.
"""

import argparse
import importlib.util
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.figures import Figure, Sheet, report
from benchmarks.runs_compared import State, difference, state
from benchmarks.striking import inner, restart_engine, waited

ROOT = Path(__file__).parent.parent
KILLS, BUGS, ATTEMPTS, EACH, WORKERS = 100, 3, 2, 4, 2
LEAST_SECONDS = 200.0
SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
KINDS = (*(f"process {name}" for name in SIGNALS), "launcher", "agent", "all agents", "one inside", "mixed", "engine")
MIXED = ("launcher", "agent", "all agents", "one inside")
Strike = tuple[str, random.Random, float]
"""The kind, what draws the moments, and the seconds of a run without kills."""


@dataclass
class Found:
    """What came of the runs of one kind."""

    kills: int = 0
    runs: int = 0
    same: int = 0
    different: list[str] = field(default_factory=list)
    hung: int = 0
    early: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Command:
    """One of the two commands: how its folder begins, its arguments, its undisturbed end and seconds."""

    name: str
    begin: Callable[[Path], None]
    arguments: Callable[[Path], list[str]]
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
        self.folder, self.source, self.sandbox = folder, source, sandbox
        self.bugs, self.attempts = bugs, attempts
        self.cache, self.random = cache or folder / f"cache-{sandbox}", random.Random(seed)
        self.count = 0

    def prepare(self) -> None:
        """Make the undisturbed runs. Raises `RuntimeError` when they cannot be made."""
        bugs, solved = self.folder / f"bugs-{self.sandbox}", self.folder / f"solved-{self.sandbox}"
        for old in (bugs, solved, *self.folder.glob("run-*")):
            shutil.rmtree(old, ignore_errors=True)
        if not self.cache.exists():
            self._undisturbed(self._curriculum(bugs))  # builds the environment
            shutil.rmtree(bugs)
        first = self._undisturbed(self._curriculum(bugs))
        shutil.copytree(bugs, solved)
        second = self._undisturbed(self._solve(solved))
        self.commands = (
            Command("curriculum", lambda out: None, self._curriculum, state(bugs), first),
            Command("solve", lambda out: copy(bugs, out), self._solve, state(solved), second),
        )

    def _curriculum(self, out: Path) -> list[str]:
        asked = ("--bugs", self.bugs, "--seed", 3, "--workers", WORKERS)
        return ["curriculum", self.source, "--out", str(out), *map(str, asked), "--sandbox", self.sandbox]

    def _solve(self, out: Path) -> list[str]:
        asked = ("--attempts", self.attempts, "--workers", WORKERS)
        return ["solve", str(out), *map(str, asked), "--sandbox", self.sandbox]

    def _undisturbed(self, arguments: Sequence[str]) -> float:
        started = time.monotonic()
        with self._running(arguments) as process:
            if process.wait(600) != 0:
                raise RuntimeError(f"without a kill, {' '.join(arguments)} ends with {process.returncode}")
        return time.monotonic() - started

    @contextmanager
    def _running(self, arguments: Sequence[str]) -> Iterator[psutil.Popen]:
        env = {**os.environ, "SELFPLAY_CACHE": str(self.cache), "PYTHONPATH": str(ROOT)}
        with (self.folder / "said.txt").open("wb") as said:
            process = psutil.Popen(
                [sys.executable, "-m", "selfplay", *arguments], stdout=said, stderr=said, env=env, cwd=ROOT
            )
            try:
                yield process
            finally:
                if process.is_running():
                    process.kill()
                process.wait()

    def kind(self, kind: str, kills: int) -> Found:
        """Runs with kills of that kind, until there were so many."""
        found = Found()
        for share, command in zip((kills - kills // 2, kills // 2), self.commands, strict=True):
            until = found.kills + share
            while found.kills < until:
                self._one(kind, command, min(EACH, until - found.kills), found)
        return found

    def _one(self, kind: str, command: Command, most: int, found: Found) -> None:
        """One run with at most so many kills, from its start to its end."""
        self.count += 1
        out = self.folder / f"run-{self.count}"
        command.begin(out)
        if command.name == "curriculum" and self.count % 3 == 0:
            self._forget_measurements()
        seed, before = self.random.random(), found.kills
        moments = random.Random(seed)
        deadline, ended = time.monotonic() + max(LEAST_SECONDS, 10 * command.seconds), False
        while not ended:
            with self._running(command.arguments(out)) as process:
                strikes = found.kills - before
                strike = (kind, moments, command.seconds)
                ended = self._struck(strike, process, most - strikes, found, deadline)
                code = process.poll()
        found.runs += 1
        said = (self.folder / "said.txt").read_text("utf-8", "replace")[-400:]
        if code is None:
            found.hung += 1
        elif code != 0:
            found.early.append(f"{command.name} in {out}: {code}: {said}")
        elif other := difference(command.end, state(out)):
            found.different.append(f"{command.name} in {out}: {other}")
        else:
            found.same += 1
            shutil.rmtree(out)

    def _struck(self, strike: Strike, process: psutil.Popen, most: int, found: Found, deadline: float) -> bool:
        """Strike while the process runs; returns whether the run has come to its end, or hangs."""
        kind, moments, seconds = strike
        name = kind.partition(" ")[2]
        due = time.monotonic() + moments.random() * 2 * seconds / (EACH + 1)
        struck = 0
        while process.poll() is None:
            if time.monotonic() > deadline:
                return True
            if struck < most and time.monotonic() >= due:
                if not self._strike(kind, process, moments):
                    continue  # nothing of that kind is there at this moment
                struck += 1
                found.kills += 1
                if name in SIGNALS:
                    waited(process, deadline)
                    return process.poll() is None
                due = time.monotonic() + 1.0 + moments.random() * 2 * seconds / (EACH + 1)
            time.sleep(0.005)
        return True

    def _strike(self, kind: str, process: psutil.Popen, moments: random.Random) -> bool:
        """Kill something of that kind; returns whether there was something."""
        try:
            if kind == "engine":
                restart_engine()
                return True
            if (name := kind.partition(" ")[2]) in SIGNALS:
                process.send_signal(SIGNALS[name])
                return True
            if kind == "mixed":
                kind = moments.choice(MIXED)
            targets = self._targets(kind, process)
            for target in targets if kind == "all agents" else moments.sample(targets, min(1, len(targets))):
                target.send_signal(moments.choice(list(SIGNALS.values())) if kind == "launcher" else signal.SIGKILL)
            return bool(targets)
        except psutil.NoSuchProcess:
            return False

    def _targets(self, kind: str, process: psutil.Popen) -> list[psutil.Process]:
        below = process.children(recursive=True)
        if kind == "launcher":
            return [one for one in process.children() if "launcher.py" in " ".join(one.cmdline())]
        return [one for one in below if (numbers := inner(one)) and (numbers[-1] == 1) != (kind == "one inside")]

    def _forget_measurements(self) -> None:
        """Make the next run measure the suite and make the survey anew."""
        for path in [*self.cache.rglob("suite-*"), *self.cache.glob("surveys/*")]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def copy(run: Path, out: Path) -> None:
    shutil.copytree(run, out)


def little_repository(folder: Path) -> Path:
    """The repository of the tests, whose suite takes a moment."""
    spec = importlib.util.spec_from_file_location("tiny_repository", ROOT / "tests" / "tiny_repository.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not folder.exists():
        module.make(folder)
    return folder


def measured(source: str, kinds: Sequence[str], kills: int, seed: int, folder: Path) -> dict[str, Found]:
    """Kind -> what came of its runs."""
    folder.chmod(0o755)
    found: dict[str, Found] = {}
    for sandbox in dict.fromkeys("docker" if kind == "engine" else "bubblewrap" for kind in kinds):
        bench = Bench(folder, source or str(little_repository(folder / f"shop-{sandbox}")), seed, sandbox=sandbox)
        bench.prepare()
        for kind in kinds:
            if (kind == "engine") == (sandbox == "docker"):
                found[kind] = bench.kind(kind, kills)
                print(f"{kind}: {found[kind]}", file=sys.stderr, flush=True)
    return found


def sheet(found: dict[str, Found]) -> Sheet:
    """The table."""
    rows = []
    for kind, one in found.items():
        bad = len(one.different) + one.hung + len(one.early)
        rows += [
            Figure(f"{kind}: the same after {one.kills} kills", one.same, "runs", f"= {one.runs}", not bad),
            Figure(f"{kind}: different", len(one.different), "runs", "= 0", not one.different),
            Figure(f"{kind}: hung", one.hung, "runs", "= 0", not one.hung),
            Figure(f"{kind}: ended early", len(one.early), "runs", "= 0", not one.early),
        ]
    said = [line for one in found.values() for line in (*one.different, *one.early)]
    return Sheet("kills at random moments of curriculum and solve", tuple(rows), "\n".join(said))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--source", default="", help="the tests' little repository if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="work in this folder and keep it")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    kinds = asked.kind or [
        kind for kind in KINDS if kind != "mixed" and (kind != "engine" or os.environ.get("DOCKER_HOST"))
    ]
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
        report([sheet(measured(asked.source, kinds, asked.kills, asked.seed, asked.keep))], asked.json)
        return
    with tempfile.TemporaryDirectory() as folder:
        report([sheet(measured(asked.source, kinds, asked.kills, asked.seed, Path(folder)))], asked.json)


if __name__ == "__main__":
    main()
