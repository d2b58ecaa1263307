"""A training run from nothing on two CPU cores, as `make train-demo` runs it.

Bugs by script -> short lessons of both roles -> a cold start of SmolLM2-135M, until it resolves some of the first bugs
-> joint self-play in both roles. The run is killed in the midst of a step (SIGKILL, its whole process group) and
resumed. What a step learns is what both roles played in it: nothing is coached. Ends with an error when fewer updates
were taken than were asked for.

`.venv-models/bin/python -m benchmarks.train_demo`; the same command goes on where it was stopped.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from benchmarks.cold_starts import copied, half, resolves
from benchmarks.ours import SELFPLAY, selfplay, small_model
from benchmarks.steps_trained import Account, account, played_of_open_step
from selfplay.formatting import count, spoken
from selfplay.loop.config import load_config
from selfplay.loop.metrics import read_history
from selfplay.report.training import steps_table

RUN, FIRST, TAUGHT, TRIED, INJECTOR = (
    Path("runs", f"train-demo{name}") for name in ("", "-first", "-taught", "-tried", "-injector")
)
"""`FIRST`: bugs by script with which the run begins, so that a solver has some before the injector plants any.
`TAUGHT`: other bugs by script. They are the injector's lessons, and lie outside of the run: there a bug planted as in a
lesson is new once, and a duplicate afterwards."""
NOTE = RUN.with_name("train-demo-killed.json")
AGAIN = "make train-demo"
UPDATES = 6
MOST_STEPS = 20
"""A step whose rewards are all alike takes no update. So many are played at most until there were enough updates."""
KILLED_IN = 2
"""The step (from 0) in which the run is killed."""
BUGS = {
    TAUGHT: ("--bugs", "3", "--strategy", "direct", "--seed", "7"),
    FIRST: ("--bugs", "3", "--strategy", "removal", "--seed", "6"),
}
"""One to learn to plant in each file where an injector may be told to begin, which fails one test: the more tests a
weakening has to mend, the longer is its lesson. The first ones fail one to three."""
LESSONS = {TAUGHT: "injector", FIRST: "solver"}
"""The role of each one's lessons."""
COLD_START = (
    "--batch", "1", "--warmup", "5", "--schedule", "cosine", "--repeats", "--held-out", "0",
    "--budget", "3072", "--too-long", "leave-out", "--keep-activations",
)  # fmt: skip
BY_HEART = ("--role", "injector", "--epochs", "10", "--lr", "4e-4")
ROUNDS = (("--epochs", "6", "--lr", "2e-4"), *4 * (("--epochs", "2", "--lr", "1e-4"),))
"""An injection is right only if some 980 tokens are, and it is new only once: those lessons are learned by heart. A
solver that knows its lessons as well resolves its bug in every attempt, and has nothing left to learn: rounds in both
roles end when one of the first bugs is resolved in some of `TRIES` attempts. In both, since a few steps in one role
undo the other."""
TRIES = 6


class Phases:
    """What took how long."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        print(f"\n== {name}", flush=True)
        began = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began


def main() -> None:
    phases = Phases()
    with phases.of("model"):
        print(folder := small_model())
    config = load_config("tiny_cpu", [f"model={folder}"])
    with phases.of("bugs and lessons"):
        for out, which in BUGS.items():
            selfplay("curriculum", config.source, "--out", out, *which, again=AGAIN)
        copied(FIRST, TRIED)
        copied(FIRST, RUN)
        for out, role in LESSONS.items():
            selfplay("trajectories", "demonstrate", out, "--short", "--role", role, again=AGAIN)
    with phases.of("cold start"):
        model, bugs = cold_start(folder, config.options)
    start = [f"model={model}", f"solver.only=[{','.join(bugs)}]"]
    with phases.of("training until it is killed"):
        if not NOTE.exists():
            NOTE.write_text(json.dumps(killed(training(start, KILLED_IN + 1))))
    with phases.of("training, resumed"):
        trained(start)
    shown(phases)


def cold_start(model: str, options: Mapping[str, str]) -> tuple[Path, list[str]]:
    """The first model that resolves one of the first bugs, and the bugs that it resolves, at times if there are such:
    old bugs are drawn from them alone, since one that is never resolved teaches nothing."""
    taught(model, INJECTOR, [TAUGHT], BY_HEART)
    before = INJECTOR
    for number, how in enumerate(ROUNDS):
        out = RUN.with_name(f"train-demo-cold-{number + 1}")
        taught(before, out, [TAUGHT, FIRST], how)
        resolved = resolves(TRIED, out, TRIES, options, AGAIN)
        each = ", ".join(f"{bug} in {good} of {TRIES}" for bug, good in resolved.items())
        print(f"after {out}, attempts resolve {each}", flush=True)
        at_times = [bug for bug, good in resolved.items() if 0 < good < TRIES]
        if found := at_times or [bug for bug, good in resolved.items() if good]:
            return out, found
        before = out
    sys.exit(f"the demonstration failed: after {len(ROUNDS)} rounds no bug is resolved")


def taught(model: Path | str, out: Path, lessons: Sequence[Path], how: Sequence[str]) -> None:
    """A cold start from these lessons, if it was not made before."""
    if not (out / "sft.json").exists():
        how = (*how, *COLD_START, "--precision", "bf16" if half() else "fp32")
        selfplay("sft", *lessons, "--model", model, "--out", out, *how, again=AGAIN)


def training(start: Sequence[str], steps: int) -> list[str]:
    """The command that trains up to so many steps. `start`: what the cold start came to, as settings."""
    return [SELFPLAY, "train", "tiny_cpu", *start, f"steps={steps}", "--out", str(RUN)]


def killed(command: list[str]) -> dict[str, str]:
    """Start the run, and kill its process group once the step `KILLED_IN` has some rollouts and lacks others. Returns
    the trajectories that the step had then, by name, with their SHA-256."""
    print(f"$ {' '.join(command)}", flush=True)
    with subprocess.Popen(command, start_new_session=True) as process:
        while process.poll() is None:
            stored, missing = played_of_open_step(RUN, KILLED_IN)
            if stored and missing:
                os.killpg(process.pid, signal.SIGKILL)
                print(f"killed in step {KILLED_IN + 1}, with {len(stored)} of {len(stored) + missing} rollouts played")
                return digests(stored)
            time.sleep(0.5)
    sys.exit(f"the run ended with {process.returncode} before it could be killed in step {KILLED_IN + 1}")


def digests(names: list[str]) -> dict[str, str]:
    return {name: hashlib.sha256((RUN / "trajectories" / name).read_bytes()).hexdigest() for name in names}


def trained(start: Sequence[str]) -> None:
    """Resume the run, a few steps at a time until there are enough updates."""
    steps = UPDATES
    while (missing := UPDATES - account(RUN).updates) > 0:
        steps = max(steps, len(read_history(RUN)) + missing)
        if steps > MOST_STEPS:
            return
        selfplay(*training(start, steps)[1:], again=AGAIN)


def shown(phases: Phases) -> None:
    """The table, and how it went. Ends the program with an error when it did not go well."""
    found, before = account(RUN), json.loads(NOTE.read_text())
    kept = sum(digests([name]) == {name: digest} for name, digest in before.items())
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print("\n", steps_table(read_history(RUN)))
    lines = [
        f"{count(found.steps, 'step')}, {count(found.updates, 'update')} of the weights (version {found.version})",
        f"killed in step {KILLED_IN + 1}: {kept} of {len(before)} rollouts played before are kept as they were",
        f"rollouts planned: {found.planned}; in exactly one step: {found.once}; credited there: {found.credited}; "
        f"trained on: {found.taught['injector']} of the injector, {found.taught['solver']} of the solver",
        f"valid injections: {found.valid} of {found.injections}; resolved attempts: {found.resolved} of "
        f"{found.attempts}",
        "seconds: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in phases.seconds.items())
        + f"; together {spoken(sum(phases.seconds.values()))}",
        f"Read an episode:  selfplay show {RUN}/trajectories/{found.example}",
        f"The whole run:    selfplay show {RUN}",
        f"Who earned what:  selfplay credit {RUN}",
    ]  # fmt: skip
    print("\n".join(lines))
    why = wrong(found, kept == len(before))
    if why:
        sys.exit(f"the demonstration failed: {why}")


def wrong(found: Account, kept: bool) -> str:
    """What is not as it should be; empty where all is."""
    checks = (
        (found.updates < UPDATES, f"{found.updates} of {UPDATES} updates were taken: too few steps taught something"),
        (found.version != found.updates, f"version {found.version} of the weights after {found.updates} updates"),
        (found.once != found.planned, "a rollout stands in two steps"),
        (found.credited != found.planned, "a rollout was left out of its step"),
        (not kept, "a rollout that was played before the kill was played again"),
        (not all(found.taught.values()), "one role never had anything to learn from"),
    )
    return "; ".join(why for failed, why in checks if failed)


if __name__ == "__main__":
    main()
