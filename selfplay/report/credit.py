"""The page of a run's credit: each group with its episodes, and why some give no gradient."""

from collections.abc import Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table

from selfplay.formatting import count, tally
from selfplay.report.tables import safe
from selfplay.rl.credit.rules import Credit, untrained
from selfplay.rl.credit.table import CREDIT_COLUMNS, credit_row

SHOWN = ("episode", "outcome", "s", "tokens", "reward", "advantage", "no gradient")
NUMBERS = ("s", "tokens", "reward", "advantage")


def credit_page(credits: Sequence[Credit], damages: Sequence[str] = ()) -> RenderableType:
    """The page of `selfplay credit`. `damages`: the faults of unusable tapes."""
    groups = groupby(credits, lambda earned: (earned.episode.role, earned.episode.group))
    tables = [_table(role, group, list(members)) for (role, group), members in groups]
    trained = sum(not earned.no_gradient for earned in credits)
    said = f"{trained} of {count(len(credits), 'episode')} would be trained on"
    without = tally(untrained(credits))
    lines = [f"{said}; without a gradient: {without}" if without else said]
    return Group(*tables, *map(safe, [*lines, *(f"a tape that cannot be used: {damage}" for damage in damages)]))


def _table(role: str, group: str, members: Sequence[Credit]) -> Table:
    """The table of one group, whose episodes are compared with each other."""
    table = Table(
        title=safe(f"{role}: {group}"), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )
    for name in SHOWN:
        table.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold")
    for earned in members:
        cells = dict(zip(CREDIT_COLUMNS, credit_row(earned), strict=True))
        cells["episode"] = cells["episode"].removeprefix(f"{group} ")
        table.add_row(*(safe(cells[name]) for name in SHOWN))
    return table
