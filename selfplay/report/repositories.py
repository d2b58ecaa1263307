"""The repositories of a run, a line each: what was made of them, what that took, and why there is not more."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from selfplay.report.tables import safe
from selfplay.words import tally


def repository_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """`rows` as in `summary.json`."""
    table = Table(title="Repositories", title_justify="left", header_style="bold")
    table.add_column("repository", overflow="fold")
    for name in ("bugs", "by strategy", "episodes", "valid", "minutes"):
        table.add_column(name, justify="left" if name == "by strategy" else "right")
    table.add_column("why not more, and what to do", overflow="fold")
    for row in rows:
        bugs = f"{row['bugs']} of {row['wanted']}" if row["wanted"] else str(row["bugs"])
        share, minutes = row["valid_share"], row["minutes"]
        cells = (
            bugs, tally(row["by_strategy"]), row["episodes"], "" if share is None else f"{share:.0%}",
            "" if minutes is None else f"{minutes:.1f}", _why(row),
        )  # fmt: skip
        table.add_row(safe(row["name"]), *map(safe, cells))
    return table


def _why(row: Mapping[str, Any]) -> str:
    """Empty for a repository that gave what was asked for."""
    if row["wanted"] and row["bugs"] >= row["wanted"]:
        return ""
    return " ".join(part for part in (row["stopped"], row["hint"]) if part) or "not begun"
