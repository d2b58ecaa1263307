"""Commands on what a run made: `validate`, `show`, `grade`, `audit`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption


@app.command()
def validate(
    path: Annotated[Path, typer.Argument(help="A bug's folder, or a run's.")],
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Run every check again from nothing. Exit 0: all valid, 1: one is not, 2: could not run."""
    from rich.console import Console

    from selfplay.report.tables import verdict_table
    from selfplay.rollout.revalidation import revalidate
    from selfplay.sandbox import open_backend

    console = Console()
    results = []
    for result in revalidate(path, open_backend(sandbox, image, runtime)):
        results.append(result)
        if not as_json:
            console.print(verdict_table(result.id, result.verdicts))
    if as_json:
        print(json.dumps([result.to_json() for result in results], indent=2))
    raise typer.Exit(0 if all(result.valid for result in results) else 1)


@app.command()
def grade(
    bug_dir: Annotated[Path, typer.Argument(help="The folder of one bug.")],
    patch: Annotated[Path, typer.Option(help="The prediction: a git diff against the solver's world.")],
    counterfactual: Annotated[bool, typer.Option(help="Also run the tests made impossible.")] = True,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the grade as JSON.")] = False,
) -> None:
    """Grade a prediction in a fresh sandbox. Exit 0: resolved, 1: not resolved, 2: could not be graded."""
    from rich.console import Console

    from selfplay.report.tables import grade_table
    from selfplay.rollout.grading import grade_file
    from selfplay.sandbox import open_backend

    graded = grade_file(bug_dir, patch, open_backend(sandbox, image, runtime), counterfactual=counterfactual)
    if as_json:
        print(json.dumps(graded.to_json(), indent=2))
    else:
        Console().print(grade_table(bug_dir.name, graded))
    raise typer.Exit(0 if graded.resolved else 1)


@app.command()
def audit(
    bug_dir: Annotated[Path, typer.Argument(help="The folder of one bug.")],
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Search the solver's world for copies of the answer. Exit 0: clean, 1: it leaks, 2: could not be searched."""
    from rich.console import Console

    from selfplay.report.tables import audit_table
    from selfplay.rollout.grading import audit_bug
    from selfplay.sandbox import open_backend

    audited = audit_bug(bug_dir, open_backend(sandbox, image, runtime))
    if as_json:
        print(json.dumps(audited.to_json(), indent=2))
    else:
        Console().print(audit_table(bug_dir.name, audited))
    raise typer.Exit(0 if audited.clean else 1)


@app.command()
def show(bug_dir: Annotated[Path, typer.Argument(help="The folder of one bug.")]) -> None:
    """Show a bug: what was broken where, which tests see it, what the weakening hid, both diffs."""
    from rich.console import Console

    from selfplay.artifact import load, load_bug
    from selfplay.report.page import bug_page

    Console().print(bug_page(load_bug(bug_dir), load(bug_dir)))
