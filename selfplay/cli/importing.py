"""`selfplay import` and `selfplay world`: import tasks of other tools, and write out a bug's world."""

from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.conflicts import refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_json, print_line
from selfplay.cli.trust import TrustOption, trusted
from selfplay.formatting import count, shortened


@app.command("import")
def import_rows(
    rows: Annotated[Path, typer.Argument(help="Rows: .jsonl, .json or .parquet, or the folder of a dataset.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The run's folder: a new one, or one that rows were imported into (default: runs/ROWS-tasks)."
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="REPO=SOURCE: the code of a row's repository, a folder or a git URL. Repeatable."),
    ] = None,
    form: Annotated[str | None, typer.Option("--format", help="swebench or swesmith, if rows do not tell.")] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result of each row as JSON.")] = False,
) -> None:
    """Import rows of SWE-bench, SWE-smith, R2E-Gym or `selfplay export` as tasks that can be solved, graded and
    evaluated. Rows that cannot be imported are skipped, counted and named."""
    refuse(form not in (None, "swebench", "swesmith"), "--format", "is swebench or swesmith")
    named = [one.partition("=") for one in source or ()]
    refuse(any(not name or not place for name, _, place in named), "--source", "is REPO=SOURCE")
    from selfplay.commands.default_out import made_of
    from selfplay.commands.importing import ImportOrder, run_import
    from selfplay.report.progress import LiveWatcher

    out = out or made_of(rows.with_suffix(""), "tasks")
    order = ImportOrder(rows, out, {name: place for name, _, place in named}, form or "")
    with resumable(), LiveWatcher(f"reading {rows.name}") as watcher:
        found = run_import(order, opened(sandbox, image, runtime), watcher.say)
    if as_json:
        print_json(found.to_json())
        return
    more = f", {found.known} were there already" if found.known else ""
    print_line(
        f"{count(len(found.tasks), 'task')} taken{more}, {count(len(found.skipped), 'row')} skipped; the run is {out}"
    )


@app.command()
def world(
    bug_dir: Annotated[Path, typer.Argument(help="The folder of one bug.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder to write: a new one, or an empty one (default: runs/BUG-world).")
    ] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print where everything is as JSON.")] = False,
) -> None:
    """Write what a solver gets of a bug as files: the broken tree, the prompt, and how to hand in a patch."""
    from selfplay.commands.default_out import made_of
    from selfplay.commands.world import hand_out
    from selfplay.report.progress import LiveWatcher

    out = out or made_of(bug_dir, "world", anew=True)
    with LiveWatcher(f"writing {shortened(out.name)}"):
        found = hand_out(bug_dir, out, opened(sandbox, image, runtime), trust=trusted(bug_dir, trust))
    if as_json:
        print_json(found.to_json())
        return
    print_line(f"{out}/prompt.md says what to do, in {out}/testbed. Hand in: {found.hand_in}")
