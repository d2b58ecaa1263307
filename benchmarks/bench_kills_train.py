"""SIGKILLs at random moments of training runs: does each, resumed, train every rollout exactly once?

`python -m benchmarks.bench_kills_train FOLDER --model MODEL [--kills N] [--kind KIND]... [--seed S] [--json]`.

A tiny random model plays both roles of a small repository for three steps, coached in half of its episodes, so that
rewards differ (`coached_run.py`). It is done once in one process without a kill, and then over and over, in one process
and on Ray, while processes are killed `N` times of each kind: the driver, an engine, a host, the trainer, a whole node
of a cluster (`lost_nodes.py`), the one process. On Ray the kinds are mixed in each run, the least killed one first;
nodes are lost in runs of their own. When the driver or the one process is killed the same command is started again. The
moments come from a seed. FOLDER keeps what was found, and a benchmark that is stopped goes on from there. MODEL: a
folder with the tokenizer (`selfplay model fetch smollm2`).

Of every run that came to its end: rollouts that stand in two steps or whose update was taken twice, rollouts that are
in no step's credit, rollouts with another reward or outcome, or sampled by another version of the weights, than in the
run without a kill, and how far the weights are from those, as a share of how far they moved. A run hangs when it takes
ten times as long as the first of its kind, and at least 20 minutes.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.bench_kills import little_repository
from benchmarks.figures import Figure, Sheet, at_most, report
from benchmarks.lost_nodes import OPEN, Nodes, nodes
from benchmarks.steps_trained import account, rewarded

ROOT = Path(__file__).parent.parent
ACTORS = {"engine": "EngineActor", "host": "HostActor", "trainer": "RankActor"}
ON_RAY, ON_NODES, ALONE = ("driver", *ACTORS), ("node",), ("process",)
LASTING = (*ACTORS, "node")
"""What is killed while the driver goes on."""
KILLS, EACH = 20, 6
"""Of each kind in all; of all kinds in one run, about."""
LEAST_SECONDS, SAME, WATCH_SECONDS = 1200.0, 0.01, 0.05
PAUSES = {"node": (10.0, 45.0)}
"""Seconds between two kills, where not 2 to 30: what lived on a node takes 15 s to start again."""


@dataclass
class Found:
    """What came of the runs so far. `apart`: the largest distance of the weights."""

    kills: dict[str, int] = field(default_factory=dict)
    runs: int = 0
    hung: int = 0
    ended: int = 0
    twice: int = 0
    left_out: int = 0
    other: int = 0
    apart: float = 0.0
    said: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Target:
    """A run that is to be killed: its driver, and the nodes that it joined."""

    process: psutil.Popen
    moments: random.Random
    machines: Nodes | None

    def killed(self, kind: str) -> bool:
        """Kill a process of that kind, or all of a node; whether there was one."""
        if kind == "node" and self.machines:
            self.machines.lose_one(self.moments)
            return True
        try:
            targets: list[psutil.Process] = [self.process]
            if kind in ACTORS:
                below = self.process.children(recursive=True)
                targets = [one for one in below if any(ACTORS[kind] in part for part in one.cmdline())]
            if targets:
                self.moments.choice(targets).kill()
            return bool(targets)
        except psutil.Error:
            return False


class Bench:
    """The run without a kill, and those with kills."""

    def __init__(self, folder: Path, model: Path, seed: int) -> None:
        self.folder, self.seed, self.path = folder, seed, folder / "found.json"
        self.found = Found(**json.loads(self.path.read_text())) if self.path.exists() else Found()
        places = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
        self.env = {**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"}
        little_repository(folder / "shop")
        if not (folder / "tiny" / "config.json").exists():
            make = "import sys, pathlib; from models.update.conftest import tiny_folder as t; p = pathlib.Path\n"
            make += "t(p(sys.argv[1]), p(sys.argv[2]), 49_152)"
            subprocess.run([sys.executable, "-c", make, str(folder / "tiny"), str(model)], env=self.env, check=True)

    @property
    def undisturbed(self) -> Path:
        return self.folder / "undisturbed"

    def prepare(self) -> None:
        """Make the run without a kill, unless an earlier benchmark did."""
        if account(self.undisturbed).steps:
            return
        with self._started(self.undisturbed, []) as process:
            if process.wait(LEAST_SECONDS) != 0:
                raise RuntimeError(f"without a kill the run ends with {process.returncode}: {self._said()}")

    def run(self, kinds: Sequence[str], kills: int) -> None:
        """One run with kills of these kinds, at most so many of each in all."""
        number, out = self.found.runs, self.folder / f"run-{self.found.runs}"
        shutil.rmtree(out, ignore_errors=True)
        moments, here = random.Random(f"{self.seed} {number}"), Counter[str]()
        deadline, code = time.monotonic() + LEAST_SECONDS, None
        with ExitStack() as stack:
            machines = stack.enter_context(nodes(self.env)) if kinds == ON_NODES else None
            options = ["--address", machines.address] if machines else [] if kinds == ALONE else ["--cluster"]
            while code is None and time.monotonic() < deadline:
                with self._started(out, options) as process:
                    code = self._struck(Target(process, moments, machines), kinds, kills, deadline, here)
        self._judge(out, code, here)

    def _started(self, out: Path, options: Sequence[str]) -> psutil.Popen:
        command = [sys.executable, "-m", "benchmarks.coached_run", str(self.folder), str(out), *options]
        env = {**self.env, **OPEN} if "--address" in options else self.env
        with (self.folder / "said.txt").open("ab") as words:
            return psutil.Popen(command, env=env, cwd=ROOT, stdout=words, stderr=words)

    def _struck(
        self, target: Target, kinds: Sequence[str], kills: int, deadline: float, here: Counter[str]
    ) -> int | None:
        """Kill while the process runs; its exit code, None when it was killed or takes too long."""
        process, moments = target.process, target.moments
        pause = PAUSES.get(kinds[0], (2.0, 30.0))
        due = time.monotonic() + moments.uniform(*pause)
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
                return None
            wanted = [kind for kind in kinds if self.found.kills.get(kind, 0) < kills]
            if wanted and here.total() < EACH and time.monotonic() > due:
                kind = min(wanted, key=lambda one: (self.found.kills.get(one, 0), moments.random()))
                if target.killed(kind):
                    self.found.kills[kind] = self.found.kills.get(kind, 0) + 1
                    here[kind] += 1
                    print(f"run {self.found.runs}: {kind} killed", file=sys.stderr, flush=True)
                    if kind not in LASTING:
                        process.wait()
                        return None
                    due = time.monotonic() + moments.uniform(*pause)
            time.sleep(WATCH_SECONDS)
        return int(process.returncode)

    def _judge(self, out: Path, code: int | None, here: Counter[str]) -> None:
        found, where = self.found, f"run {self.found.runs} ({dict(here)})"
        found.runs += 1
        if code != 0:
            found.hung, found.ended = found.hung + (code is None), found.ended + (code is not None)
            found.said.append(f"{where}: {code}: {self._said()}")
        else:
            of, wanted, had = account(out), rewarded(self.undisturbed), rewarded(out)
            other = sum(wanted.get(name) != had.get(name) for name in wanted | had)
            twice = of.planned - of.once + abs(of.version - of.updates)
            found.twice, found.left_out = found.twice + twice, found.left_out + of.planned - of.credited
            found.other += other
            apart = self._apart(out) if of.version == account(self.undisturbed).version else 1.0
            found.apart = max(found.apart, apart)
            if other or twice or of.planned != of.credited or apart > SAME:
                found.said.append(f"{where}: {of}, {other} other, weights {apart:.3f} apart")
            else:
                shutil.rmtree(out)
        self.path.write_text(json.dumps(asdict(found)))

    def _apart(self, out: Path) -> float:
        import importlib

        sys.path.append(str(ROOT / "tests"))
        measured: Any = importlib.import_module("weights_apart")
        return float(measured.apart(out, self.undisturbed, self.folder / "tiny"))

    def _said(self) -> str:
        return (self.folder / "said.txt").read_text("utf-8", "replace")[-600:]


def sheet(found: Found) -> Sheet:
    """The table."""
    rows = [Figure(f"SIGKILLs, {kind}", kills, "") for kind, kills in found.kills.items()]
    rows += [
        Figure("runs", found.runs, ""),
        at_most("runs that hung", found.hung, 0, ""),
        at_most("runs that ended with an error", found.ended, 0, ""),
        at_most("rollouts trained twice", found.twice, 0, ""),
        at_most("rollouts left out", found.left_out, 0, ""),
        at_most("rollouts with another reward, outcome or version", found.other, 0, ""),
        at_most("distance of the weights, at most", found.apart, SAME, ""),
    ]
    return Sheet("kills at random moments of training runs", tuple(rows), "\n".join(found.said))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_kills_train", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--kind", action="append", choices=(*ON_RAY, *ON_NODES, *ALONE))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(asked.folder.absolute(), asked.model, asked.seed)
    bench.prepare()
    for all_kinds in (ON_RAY, ON_NODES, ALONE):
        kinds = tuple(kind for kind in all_kinds if not asked.kind or kind in asked.kind)
        while any(bench.found.kills.get(kind, 0) < asked.kills for kind in kinds):
            bench.run(kinds, asked.kills)
    report([sheet(bench.found)], asked.json)


if __name__ == "__main__":
    main()
