"""`selfplay train`: joint self-play training from a configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.conflicts import refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_either, print_json, print_line
from selfplay.formatting import count

DOES_NOT_FIT = 1


@app.command()
def train(
    config: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped one, as tiny_cpu.")],
    overrides: Annotated[list[str] | None, typer.Argument(help="NAME=VALUE, as in steps=20 or recipe.lr=1e-5.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder (default: runs/NAME-train); the same folder again resumes.")
    ] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    address: Annotated[
        str | None,
        typer.Option("--ray-address", help="Join this Ray cluster (HOST:PORT, or auto)."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Start nothing: print where everything runs, and its memory and hours.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures of every step, or the plan, as JSON.")
    ] = False,
) -> None:
    """Train one policy that plants bugs and fixes them, by joint self-play."""
    if plan:
        elsewhere = None if sandbox == "bubblewrap" else sandbox
        given = {"--out": out, "--sandbox": elsewhere, "--image": image, "--runtime": runtime, "--ray-address": address}
        raise typer.Exit(_show_plan(config, overrides or (), as_json, given))
    from selfplay.commands.default_out import default_out
    from selfplay.commands.training.plan import refuse_impossible
    from selfplay.commands.training.request import TrainOrder
    from selfplay.commands.training.run import run_training
    from selfplay.loop.config import load_config
    from selfplay.report.progress import LiveWatcher
    from selfplay.report.scalars import require_tensorboard
    from selfplay.sandbox import Isolation

    wanted = load_config(config, overrides or ())
    refuse(address and wanted.cluster is None, "--ray-address", "needs `cluster` in the configuration")
    refuse_impossible(wanted)
    if wanted.tensorboard:
        require_tensorboard()
    out = out or default_out(wanted.repositories[0].source, "train")
    order = TrainOrder(wanted, out, Isolation(sandbox, image, runtime), address)
    with resumable(), LiveWatcher() as watcher:
        found = run_training(order, opened(sandbox, image, runtime), watcher)
    if as_json:
        print_json(found)
    else:
        print_line(f"{_done(found)}; metrics in {out}/metrics.jsonl")


def _done(found: Mapping[str, Any]) -> str:
    """What a run came to, in words."""
    updates = sum("nothing" not in one for one in found["steps"])
    where = f"the weights are in {found['weights']}" if found["weights"] else "no weights were changed"
    return f"{count(len(found['steps']), 'step')}, {count(updates, 'update')}; {where}"


def _show_plan(name: str, overrides: Sequence[str], as_json: bool, given: Mapping[str, object]) -> int:
    """Print the plan. `given`: the options of what a plan does not start, None where they are not given. Returns the
    exit code: 1 if it does not fit."""
    for option, value in given.items():
        refuse(value is not None, option, "makes no sense with --plan, which starts nothing")
    from selfplay.loop.config import load_config

    config = load_config(name, overrides)
    from selfplay.commands.training.plan import planned
    from selfplay.report.plan import plan_page

    found = planned(config)
    print_either(as_json, found.to_json(), lambda: plan_page(found, config))
    return DOES_NOT_FIT if found.problems else 0
