"""A first sign of learning, on two CPU cores: a solver of 135M on eight bugs of a small repository, after a cold start,
and the same run with the rewards of each group dealt out by lot, which must not learn.

Bugs by script -> those that are graded at full assurance -> short lessons -> cold start -> `learn_small`, twice.
`.venv-models/bin/python -m benchmarks.bench_learning [--json|--markdown]`; the same command goes on where it was
stopped. `--markdown`: the curves as a page shows them, from what is stored. Two cores take two to four hours.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Sheet, at_least, at_most, report
from benchmarks.ours import selfplay, small_model
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.config import load_config
from selfplay.loop.metrics import Figures, counts, read_history

NAMES = ("lessons", "tried", "rewards", "shuffled")
TAUGHT, TRIED, LEARNS, CONTROL = (Path("runs", f"learning-{name}") for name in NAMES)
BUGS, WANTED = 10, 8
"""Two of ten are graded weakly: an attempt at them earns nothing."""
MADE = ("--strategy", "direct", "--seed", 1, "--bugs", BUGS)
ROUNDS = ((6, 3e-4), *6 * ((1, 3e-5),))
"""(epochs, learning rate) of the rounds of the cold start. It ends with the first after which `NEAR` of the attempts
resolve their bug, and `BUGS_AT_TIMES` of the bugs are resolved in one of `TRIES` attempts: a group without a success
teaches nothing."""
NEAR, BUGS_AT_TIMES, TRIES = 0.1, 0.75, 4
COLD_START = (
    "--role", "solver", "--batch", "1", "--warmup", "5", "--schedule", "cosine",
    "--held-out", "0", "--budget", "3072", "--too-long", "leave-out", "--precision", "fp32", "--keep-activations",
)  # fmt: skip
WINDOW = 3
"""Steps whose attempts are counted together."""
AGAIN = "python -m benchmarks.bench_learning"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    wanted = parser.parse_args()
    if not wanted.markdown:
        bugs = taught()
        trained(bugs, cold_start(bugs))
    curves = {name: solved(read_history(out)) for name, out in (("rewards", LEARNS), ("shuffled", CONTROL))}
    if wanted.markdown:
        print(markdown(curves))
    else:
        report([sheet(curves)], wanted.json)


def taught() -> list[str]:
    """The bugs and their lessons. Returns the bugs that are graded fully."""
    source = load_config("learn_small").source
    for out in (TAUGHT, TRIED):  # what is resolved in the second is no lesson
        selfplay("curriculum", source, "--out", out, *MADE, again=AGAIN)
    selfplay("solve", TAUGHT, "--policy", "gold", "--attempts", 1, again=AGAIN)
    selfplay("trajectories", "demonstrate", TAUGHT, "--short", again=AGAIN)
    found = fully_assured(TAUGHT)
    if len(found) < WANTED:
        sys.exit(f"{len(found)} of {BUGS} bugs are graded fully, and the experiment needs {WANTED}")
    return found[:WANTED]


def fully_assured(run: Path) -> list[str]:
    """The bugs of a run whose gold patch is graded at full assurance."""
    with read_pool(run) as pool:
        gold = [one for one in pool.attempts.all() if one.policy == "gold" and one.resolved]
    return [one.bug for one in gold if one.figures.assurance == "full"]


def cold_start(bugs: Sequence[str]) -> Path:
    """The first model that resolves some of the bugs at times: below, no group of attempts would tell it anything."""
    model = Path(small_model())
    for number, (epochs, lr) in enumerate(ROUNDS):
        out = Path("runs", f"learning-cold-{number + 1}")
        if not (out / "sft.json").exists():
            rate = ("--epochs", epochs, "--lr", lr)
            selfplay("sft", TAUGHT, "--model", model, "--out", out, *rate, *COLD_START, again=AGAIN)
        share, at_times = resolves(out, bugs)
        print(f"after {out}: {share:.0%} of the attempts, {at_times:.0%} of the bugs at least once", flush=True)
        if share >= NEAR and at_times >= BUGS_AT_TIMES:
            return out
        model = out
    sys.exit(
        f"after {len(ROUNDS)} rounds the model resolves fewer than {NEAR:.0%} of its attempts, or fewer than "
        f"{BUGS_AT_TIMES:.0%} of the bugs at least once: nothing to learn from"
    )


def resolves(model: Path, bugs: Sequence[str]) -> tuple[float, float]:
    """The share of a few attempts of a model that resolve their bug, and the share of bugs resolved in one of them."""
    options = [
        word for name, value in load_config("learn_small").options.items() for word in ("--option", f"{name}={value}")
    ]
    named = [word for bug in bugs for word in ("--bug", bug)]
    selfplay("solve", TRIED, "--policy", f"vllm:{model}", "--attempts", TRIES, *options, *named, again=AGAIN)
    with read_pool(TRIED) as pool:
        found = [one for one in pool.attempts.all() if one.policy == f"vllm:{model}"]
    solved = [one.bug for one in found if one.resolved]
    return len(solved) / max(1, len(found)), len(set(solved)) / max(1, len(bugs))


def trained(bugs: Sequence[str], model: Path) -> None:
    """The run and its control, each on bugs of its own."""
    only = f"solver.only=[{','.join(bugs)}]"
    for out, lot in ((LEARNS, "false"), (CONTROL, "true")):
        selfplay("curriculum", load_config("learn_small").source, "--out", out, *MADE, again=AGAIN)
        settings = (f"model={model}", only, f"recipe.shuffled={lot}", *half())
        selfplay("train", "learn_small", *settings, "--out", out, again=AGAIN)


def half() -> tuple[str, ...]:
    """A processor with instructions for bf16 trains and samples in it: less than two thirds of the time."""
    from selfplay.train.precision import slow_precision

    return () if slow_precision("bf16") else ("recipe.precision=bf16", "play.dtype=bfloat16")


def solved(history: Sequence[Figures]) -> list[tuple[int, int]]:
    """(attempts that resolved their bug, attempts that count) of each step."""
    outcomes = [counts(step, "rollouts", "solver", "outcomes") for step in history]
    return [(one.get("resolved", 0), sum(one.values())) for one in outcomes]


def shares(curve: Sequence[tuple[int, int]], window: int = WINDOW) -> list[float]:
    """The share resolved in each window of steps."""
    parts = [curve[at : at + window] for at in range(0, len(curve), window)]
    return [sum(good for good, _ in part) / max(1, sum(all for _, all in part)) for part in parts]


def sheet(curves: dict[str, list[tuple[int, int]]]) -> Sheet:
    rewards, shuffled = shares(curves["rewards"]), shares(curves["shuffled"])
    return Sheet(
        f"A solver of 135M on {WANTED} bugs, share of attempts that resolve theirs",
        (
            at_most(f"first {WINDOW} steps", rewards[0], 0.25, ""),
            at_least(f"last {WINDOW} steps", rewards[-1], 0.5, ""),
            at_most(f"rewards by lot, last {WINDOW} steps above the first", shuffled[-1] - shuffled[0], 0.15, ""),
        ),
    )


def markdown(curves: dict[str, list[tuple[int, int]]]) -> str:
    """Both curves as a picture and a table."""
    lines = ["```mermaid", "xychart-beta", f'    title "attempts that resolve their bug, mean of {WINDOW} steps"']
    windows = {name: shares(curve) for name, curve in curves.items()}
    ends = [str(WINDOW * (at + 1)) for at in range(max(map(len, windows.values())))]
    lines += [f'    x-axis "steps" [{", ".join(ends)}]', '    y-axis "share" 0 --> 1']
    lines += [f"    line [{', '.join(f'{share:.2f}' for share in found)}]" for found in windows.values()]
    lines += ["```", "", "| steps | by rewards | by lot |", "|---|---|---|"]
    for at in range(0, max(map(len, curves.values())), WINDOW):
        cells = [_cell(curve[at : at + WINDOW]) for curve in curves.values()]
        lines.append(f"| {at + 1} to {at + WINDOW} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(part: Sequence[tuple[int, int]]) -> str:
    each = ", ".join(str(good) for good, _ in part)
    return f"{sum(good for good, _ in part)} of {sum(all for _, all in part)} ({each})" if part else ""


if __name__ == "__main__":
    main()
