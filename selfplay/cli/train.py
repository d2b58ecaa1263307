"""`selfplay train`: joint self-play training from a configuration."""

from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_json, print_line


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
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures of every step as JSON.")] = False,
) -> None:
    """Train one policy that plants bugs and fixes them, by joint self-play."""
    from selfplay.commands.naming import default_out
    from selfplay.commands.train import run_training
    from selfplay.commands.train_order import TrainOrder
    from selfplay.report.progress import LiveWatcher
    from selfplay.sandbox import Isolation
    from selfplay.training.config import load_config

    wanted = load_config(config, overrides or ())
    named = default_out(wanted.source)
    isolation = Isolation(sandbox, image, runtime)
    order = TrainOrder(wanted, out or named.with_name(f"{named.name}-train"), isolation, address)
    with resumable(), LiveWatcher() as watcher:
        found = run_training(order, opened(sandbox, image, runtime), watcher)
    if as_json:
        print_json(found)
    else:
        updates = sum("nothing" not in one for one in found["steps"])
        where = f"the weights are in {found['weights']}" if found["weights"] else "no weights were changed"
        print_line(f"{len(found['steps'])} steps, {updates} updates; {where}; metrics in {order.out}/metrics.jsonl")
