"""`selfplay model`: models for those who have none."""

from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.output import print_line

model = typer.Typer(help="Prepare a model.", no_args_is_help=True)
app.add_typer(model, name="model")


@model.callback()
def _model() -> None:
    """Prepare a model."""


@model.command()
def fetch(
    name: Annotated[str, typer.Argument(help="smollm2: SmolLM2-135M-Instruct, 135M parameters, Apache-2.0.")],
) -> None:
    """Prepare a small real model as safetensors, once, and print its folder (for --policy vllm:FOLDER)."""
    from selfplay.agent.model import ModelError
    from selfplay.policies.smollm2 import fetch_smollm2
    from selfplay.report.progress import LiveWatcher
    from selfplay.repository.cache import default_cache

    if name != "smollm2":
        raise ModelError(f"there is no model {name!r} to fetch", "There is: smollm2. Any local folder works as it is.")
    with LiveWatcher() as watcher:
        folder = fetch_smollm2(default_cache(), watcher.say)
    print_line(str(folder))
