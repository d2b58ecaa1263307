"""`selfplay export`: the bugs of runs as a dataset that other tools read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import one_of, refuse
from selfplay.cli.output import print_json, print_line
from selfplay.cli.trust import TrustOption, trusted
from selfplay.export.formats import FORMS, STATEMENTS, Form, Statement
from selfplay.formatting import count, shortened

if TYPE_CHECKING:
    from selfplay.commands.export import Exported

AsParquet = Annotated[bool, typer.Option("--parquet", help="Tables as Parquet, which needs pyarrow.")]
AsLines = Annotated[bool, typer.Option("--jsonl", help="Tables as JSON lines; if neither is given, that up to 500 MB.")]


@app.command()
def export(
    run_dir: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder to write: a new one, or an empty one (default: runs/RUN-FORMAT).")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"{one_of(FORMS)}.")] = "swebench",
    min_order: Annotated[int, typer.Option(min=1, max=2, help="Leave out bugs of a lower order.")] = 1,
    max_order: Annotated[int, typer.Option(min=1, max=2, help="Leave out bugs of a higher order.")] = 2,
    solve_rate: Annotated[str | None, typer.Option(help="A:B: only bugs with a solve rate in this range.")] = None,
    strategy: Annotated[list[str] | None, typer.Option(help="Only bugs of this strategy. Repeatable.")] = None,
    split: Annotated[
        str | None, typer.Option(help="A:B: split repositories into train and test, such as 80:20.")
    ] = None,
    public_share: Annotated[
        float | None,
        typer.Option(help="The share of failing tests that the statement shows; as recorded if not given."),
    ] = None,
    statement: Annotated[
        str, typer.Option(help="The agent's statement: ssr (the tests as a diff), or plain (the failures in words).")
    ] = "ssr",
    parquet: AsParquet = False,
    jsonl: AsLines = False,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """The bugs of runs as a dataset of another tool's format, with all that is needed to run them. The same pool gives
    the same bytes."""
    refuse(form not in FORMS, "--format", f"is {one_of(FORMS)}")
    refuse(statement not in STATEMENTS, "--statement", f"is {one_of(STATEMENTS)}")
    refuse(parquet and jsonl, "--parquet / --jsonl", "give one of them: a table has one form")
    refuse(min_order > max_order, "--min-order", "is above --max-order")
    refuse(public_share is not None and not 0 < public_share <= 1, "--public-share", "is above 0 and at most 1")
    from selfplay.commands.default_out import made_of
    from selfplay.commands.export import ExportOrder, run_export
    from selfplay.export.bug_selection import BugSelection, read_range, read_split
    from selfplay.report.progress import LiveWatcher

    rates = read_range(solve_rate) if solve_rate else None
    choice = BugSelection(min_order, max_order, rates, tuple(strategy or ()), public_share)
    out = out or made_of(run_dir[0], form, anew=True)
    order = ExportOrder(
        tuple(run_dir), out, cast(Form, form), choice, read_split(split) if split else None,
        cast(Statement, statement), parquet if parquet or jsonl else None, any(trusted(run, trust) for run in run_dir),
    )  # fmt: skip
    with LiveWatcher(f"writing {shortened(out.name)}"):
        found = run_export(order)
    if as_json:
        print_json(found.to_json())
    else:
        _told(found, out)


def _told(found: "Exported", out: Path) -> None:
    for name, rows in found.splits.items():
        print_line(f"{name}: {count(rows, 'bug')}")
    for why, number in sorted(found.left_out.items()):
        print_line(f"left out, {why}: {number}")
    for bug, why in sorted(found.damaged.items()):
        print_line(f"damaged and left out: {bug}: {why}")
    kind = "Parquet" if any(out.glob("*.parquet")) else "JSON lines"
    print_line(f"tables: {found.table_bytes / 1e6:,.1f} MB of {kind}")
    print_line(f"{out}/README.md explains the contents and how to use them")
