"""`selfplay logs`: the logs that another tool's grader reads, made in sandboxes."""

from pathlib import Path
from typing import Annotated, cast

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import one_of, refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_json, print_line
from selfplay.cli.trust import TrustOption, trusted
from selfplay.export.formats import GRADED_FORMS, GradedForm
from selfplay.formatting import count


@app.command()
def logs(
    run_dir: Annotated[list[Path], typer.Argument(help="Folders of the exported runs.")],
    predictions: Annotated[
        Path, typer.Option(help="JSON or JSON lines of instance_id and model_patch, such as predictions/gold.jsonl.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The folder to write: a new one, or an empty one (default: runs/RUN-logs).")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"{one_of(GRADED_FORMS)}.")] = "swebench",
    workers: Annotated[int | None, typer.Option(min=1, help="Predictions at a time (default: one per core).")] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print which have no log as JSON.")] = False,
) -> None:
    """Run a dataset's own evaluation of predictions in sandboxes, without a container engine, and write a log of each
    for its tool's grader. Exit 0: every prediction has a log, 1: one has none."""
    refuse(form not in GRADED_FORMS, "--format", f"is {one_of(GRADED_FORMS)}")
    from selfplay.commands.default_out import made_of
    from selfplay.commands.logs import LOG, LogsOrder, run_logs
    from selfplay.report.progress import LiveWatcher

    backend, allowed = opened(sandbox, image, runtime), [trusted(run, trust) for run in run_dir]  # ask for each run
    out = out or made_of(run_dir[0], "logs", anew=True)
    order = LogsOrder(tuple(run_dir), predictions, out, cast(GradedForm, form), workers, any(allowed))
    with LiveWatcher() as watcher:
        failed = run_logs(order, backend, lambda total: watcher.expect(total, "running"), watcher.done)
    if as_json:
        print_json(failed)
    else:
        for name, why in failed.items():
            print_line(f"without a log: {name}: {why}")
        made = len(list(out.glob(f"*/{LOG}")))
        print_line(f"{count(made, 'log')} in {out}")
    raise typer.Exit(1 if failed else 0)
