"""The page of an evaluation: a table of pass@k, and lines about its cost and its comparison."""

from rich.console import Group, RenderableType
from rich.table import Table

from selfplay.curriculum.evaluation import Cost, Evaluation, Row
from selfplay.report.tables import safe, short
from selfplay.rl.estimates import LEVEL, Estimate
from selfplay.words import count, listed, tally


def evaluation_page(found: Evaluation) -> RenderableType:
    """What `selfplay eval` shows."""
    lines = [
        f"in brackets: {LEVEL:.0%} intervals, from resampled bugs",
        f"attempts ended: {tally(found.reasons)}",
        _cost(found.cost),
    ]
    if found.incomplete:
        lines.append(f"fewer than {count(found.attempts, 'attempt')}: {listed(found.incomplete)}")
    if found.against is not None:
        other = found.against
        lines.append(
            f"against {short(other.policy)}, the same {count(other.bugs, 'bug')}: {other.ours:.1%} and "
            f"{other.theirs:.1%}, difference {_estimate(other.difference, signed=True)}"
        )
    return Group(_table(found), *(safe(line) for line in lines))


def _table(found: Evaluation) -> Table:
    title = f"{short(found.policy)}, {count(found.attempts, 'attempt')} at each bug"
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    table.add_column("bugs of", overflow="fold")
    every = sorted({k for row in found.rows for k in row.pass_at})
    for name in ("bugs", "resolved", *(f"pass@{k}" for k in every)):
        table.add_column(name, justify="right")
    for row in found.rows:
        cells = [_estimate(row.pass_at[k]) if k in row.pass_at else "" for k in every]
        table.add_row(safe(_name(row)), str(row.bugs), f"{row.resolved} of {row.attempts}", *cells)
    return table


def _name(row: Row) -> str:
    return f"{row.kind} {row.value}".strip()


def _estimate(found: Estimate, signed: bool = False) -> str:
    sign = "+" if signed else ""
    said = f"{found.mean:{sign}.1%}"
    if found.low is None or found.high is None:
        return said
    return f"{said} ({found.low:{sign}.1%} to {found.high:{sign}.1%})"


def _cost(cost: Cost) -> str:
    said = f"an attempt: {cost.seconds:.1f} s, {cost.calls:.1f} calls"
    if cost.prompt_tokens or cost.completion_tokens:
        said += f", {cost.prompt_tokens:,.0f} tokens read and {cost.completion_tokens:,.0f} written"
    return said + (f", {cost.cost:.4f} of the currency of the prices" if cost.cost else "")
