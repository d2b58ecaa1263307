"""A first sign of learning, on two CPU cores: a solver of 135M on a few bugs of a small repository, after a cold start,
and the same run with the rewards of each group dealt out by lot, which must not learn.

Bugs by script -> those graded at full assurance -> short lessons -> cold start -> the bugs that it
resolves at times -> `learn_small`, twice.
`.venv-models/bin/python -m benchmarks.bench_learning [--json|--markdown]`; the same command goes on where it was
stopped. `--markdown`: the curves as a page shows them, from what is stored. On two cores each run takes over an hour.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from benchmarks.cold_starts import copied, earns, half, resolves
from benchmarks.figures import Sheet, at_least, at_most, report
from benchmarks.ours import selfplay, small_model
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.config import load_config
from selfplay.loop.metrics import Figures, counts, read_history

NAMES = ("bugs", "lessons", "tried", "rewards", "shuffled")
PLANTED, TAUGHT, TRIED, LEARNS, CONTROL = (Path("runs", f"learning-{name}") for name in NAMES)
BUGS, WANTED, STEPS = 30, 8, 12
"""Bugs made, bugs that the solver is trained on, and the steps of a run; each step attempts all of them. A bug that is
resolved never or always teaches nothing at first, one that is graded weakly earns nothing."""
MADE = ("--strategy", "direct", "--seed", 1, "--bugs", BUGS)
ROUNDS = ((3, 3e-4), *6 * ((1, 1e-4),))
"""(epochs, learning rate) of the rounds of the cold start. It ends with the first after which `WANTED` bugs are
resolved at times."""
TRIES, AT_TIMES = 12, (1, 3)
"""Attempts by which the bugs are chosen, those that are resolved seldomest first, and how many of them may resolve one:
the run starts near zero, and yet has something to learn from."""
COLD_START = (
    "--role", "solver", "--batch", "1", "--warmup", "5", "--schedule", "cosine",
    "--held-out", "0", "--budget", "3072", "--too-long", "leave-out", "--keep-activations",
)  # fmt: skip
HALF = ("recipe.precision=bf16", "play.dtype=bfloat16")
ENDS = 2
"""Steps whose attempts are counted together at the ends of the curves."""
AGAIN = "python -m benchmarks.bench_learning"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    wanted = parser.parse_args()
    if not wanted.markdown:
        trained(*cold_start(taught()))
    curves = {name: solved(read_history(out)) for name, out in (("rewards", LEARNS), ("shuffled", CONTROL))}
    if wanted.markdown:
        print(markdown(curves))
    else:
        report([sheet(curves)], wanted.json)


def taught() -> list[str]:
    """The bugs and their lessons. Returns the bugs that are graded fully."""
    selfplay("curriculum", load_config("learn_small").source, "--out", PLANTED, *MADE, again=AGAIN)
    selfplay("solve", copied(PLANTED, TAUGHT), "--policy", "gold", "--attempts", 1, again=AGAIN)
    selfplay("trajectories", "demonstrate", TAUGHT, "--short", again=AGAIN)
    return fully_assured(TAUGHT)


def fully_assured(run: Path) -> list[str]:
    """The bugs of a run whose gold patch is graded at full assurance."""
    with read_pool(run) as pool:
        return [one.bug for one in pool.attempts.all() if one.policy == "gold" and earns(one)]


def cold_start(bugs: Sequence[str]) -> tuple[list[str], Path]:
    """The bugs to train on, and the first model that resolves enough of them at times."""
    model = Path(small_model())
    for number, (epochs, lr) in enumerate(ROUNDS):
        out = Path("runs", f"learning-cold-{number + 1}")
        if not (out / "sft.json").exists():
            rate = ("--epochs", epochs, "--lr", lr, "--precision", "bf16" if half() else "fp32")
            selfplay("sft", TAUGHT, "--model", model, "--out", out, *rate, *COLD_START, again=AGAIN)
        settings = {**load_config("learn_small").options, **({"dtype": "bfloat16"} if half() else {})}
        resolved = resolves(copied(PLANTED, TRIED), out, TRIES, settings, AGAIN, bugs)
        chosen = at_times(resolved)
        print(f"after {out}: {sum(resolved.values())} of {TRIES * len(bugs)} attempts resolve their bug, and "
              f"{len(chosen)} of {len(bugs)} bugs are resolved at times", flush=True)  # fmt: skip
        if len(chosen) >= WANTED:
            return chosen[:WANTED], out
        model = out
    sys.exit(f"after {len(ROUNDS)} rounds fewer than {WANTED} bugs are resolved at times: nothing to learn from")


def at_times(resolved: Mapping[str, int]) -> list[str]:
    """The bugs that are resolved in some attempts and in few, those with the fewest first."""
    least, most = AT_TIMES
    found = [bug for bug, good in resolved.items() if least <= good <= most]
    return sorted(found, key=lambda bug: (resolved[bug], bug))


def trained(bugs: Sequence[str], model: Path) -> None:
    """The run and its control, each on bugs of its own."""
    only = f"solver.only=[{','.join(bugs)}]"
    for out, lot in ((LEARNS, "false"), (CONTROL, "true")):
        settings = (f"model={model}", f"steps={STEPS}", only, f"recipe.shuffled={lot}", *(HALF if half() else ()))
        selfplay("train", "learn_small", *settings, "--out", copied(PLANTED, out), again=AGAIN)


def solved(history: Sequence[Figures]) -> list[tuple[int, int]]:
    """(attempts that resolved their bug, attempts that count) of each step."""
    outcomes = [counts(step, "rollouts", "solver", "outcomes") for step in history]
    return [(one.get("resolved", 0), sum(one.values())) for one in outcomes]


def shares(curve: Sequence[tuple[int, int]], window: int) -> list[float]:
    """The share resolved in each window of steps."""
    parts = [curve[at : at + window] for at in range(0, len(curve), window)]
    return [sum(good for good, _ in part) / max(1, sum(all for _, all in part)) for part in parts]


def sheet(curves: dict[str, list[tuple[int, int]]]) -> Sheet:
    rewards, shuffled = shares(curves["rewards"], ENDS), shares(curves["shuffled"], ENDS)
    return Sheet(
        f"A solver of 135M on {WANTED} bugs, share of attempts that resolve theirs",
        (
            at_most(f"first {ENDS} steps", rewards[0], 0.1, ""),
            at_least(f"last {ENDS} steps", rewards[-1], 0.5, ""),
            at_most(f"rewards by lot, last {ENDS} steps above the first", shuffled[-1] - shuffled[0], 0.15, ""),
        ),
    )


def markdown(curves: dict[str, list[tuple[int, int]]]) -> str:
    """Both curves as a picture and a table."""
    lines = ["```mermaid", "xychart-beta", '    title "attempts that resolve their bug, by step"']
    steps = range(1, max(map(len, curves.values())) + 1)
    lines += [f'    x-axis "steps" [{", ".join(map(str, steps))}]', '    y-axis "share" 0 --> 1']
    begun = [shares(curve, 1) for curve in curves.values() if curve]
    lines += [f"    line [{', '.join(f'{share:.2f}' for share in found)}]" for found in begun]
    lines += ["```", "", "| step | by rewards | by lot |", "|---|---|---|"]
    told = [[f"{good} of {all}" for good, all in curve] for curve in curves.values()]
    rows = zip_longest(*told, fillvalue="")
    lines += [f"| {step} | {' | '.join(cells)} |" for step, cells in enumerate(rows, 1)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
