"""`selfplay doctor`: what this machine can isolate, which backend would be used, and what would be better."""

from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import refuse_isolation
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption
from selfplay.cli.output import print_either


@app.command()
def doctor(
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Try every backend here. Exit 0: the backend that would be used isolates as promised, 1: it does not."""
    refuse_isolation(sandbox, image, runtime)
    from selfplay.commands.doctor import diagnose
    from selfplay.report.diagnosis import diagnosis_page
    from selfplay.report.progress import LiveWatcher

    with LiveWatcher("trying every backend"):
        found = diagnose(sandbox, image, runtime)
    print_either(as_json, found.to_json(), lambda: diagnosis_page(found.to_json()))
    raise typer.Exit(0 if found.used.works else 1)
