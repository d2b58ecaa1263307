"""`selfplay credit`: what each episode of a run has earned, before anything is trained."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.output import print_either


@app.command()
def credit(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder.")],
    policy: Annotated[
        str | None, typer.Option(help="Whose attempts count; those of the policy that planted the bugs if not given.")
    ] = None,
    attempts: Annotated[int, typer.Option(min=0, help="Attempts planned for each bug; 0: as many as were made.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the credit as JSON.")] = False,
) -> None:
    """Reward and advantage of every episode of both roles, and why some give no gradient (docs/credit.md). Nothing is
    trained or changed."""
    from selfplay.commands.credit import run_credit
    from selfplay.report.credit import credit_page

    found = run_credit(run_dir, policy, attempts)
    print_either(as_json, [asdict(earned) for earned in found], lambda: credit_page(found))
