"""`selfplay doctor`: what this machine can isolate, what would be used, what would be better."""

import json
from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption


@app.command()
def doctor(
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Try every backend here. Exit 0: the one that would be used isolates as promised, 1: it does not."""
    from selfplay.commands.doctor import diagnose
    from selfplay.report.diagnosis import diagnosis_page

    found = diagnose(sandbox, image, runtime)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
    else:
        from rich.console import Console

        Console().print(diagnosis_page(found.to_json()))
    raise typer.Exit(0 if found.used.works else 1)
