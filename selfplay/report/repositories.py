"""The repositories of a run, one line each: their bugs, cost, and why there are no more bugs."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from selfplay.formatting import tally
from selfplay.report.tables import safe


def repository_page(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """A table, and below it why repositories gave fewer bugs than requested, and what to do. `rows` as in
    `summary.json`."""
    table = Table(title="Repositories", title_justify="left", header_style="bold")
    table.add_column("repository", overflow="fold")
    for name in ("bugs", "by strategy", "episodes", "valid", "minutes"):
        table.add_column(name, justify="left" if name == "by strategy" else "right")
    for row in rows:
        bugs = f"{row['bugs']} of {row['wanted']}" if row["wanted"] else str(row["bugs"])
        share, minutes = row["valid_share"], row["minutes"]
        cells = (
            bugs, tally(row["by_strategy"]), row["episodes"], "" if share is None else f"{share:.0%}",
            "" if minutes is None else f"{minutes:.1f}",
        )  # fmt: skip
        table.add_row(safe(row["name"]), *map(safe, cells))
    told = [f"{row['name']}: {_why(row)}" for row in rows if _lacks(row)]
    return Group(table, *map(safe, told))


def _lacks(row: Mapping[str, Any]) -> bool:
    """Whether a repository of a training run, which requests no number of bugs, was benched."""
    return bool(row["bugs"] < row["wanted"] or (row["stopped"] and not row["wanted"]))


def _why(row: Mapping[str, Any]) -> str:
    return " ".join(part for part in (row["stopped"], row["hint"]) if part) or "not finished"
