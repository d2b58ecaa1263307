"""A measured figure beside its target, and how figures are printed: shared by all benchmarks."""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One line of a table. `target` empty: no target was set."""

    what: str
    value: float
    unit: str
    target: str = ""
    met: bool = True


@dataclass(frozen=True)
class Sheet:
    """One table. `note`: a sentence under it."""

    title: str
    figures: tuple[Figure, ...]
    note: str = ""


def at_most(what: str, value: float, most: float, unit: str) -> Figure:
    return Figure(what, value, unit, f"<= {most:g}", value <= most)


def at_least(what: str, value: float, least: float, unit: str) -> Figure:
    return Figure(what, value, unit, f">= {least:g}", value >= least)


def report_each(sheets: Iterable[Sheet], as_json: bool) -> None:
    """Print each sheet as it comes, so that one that fails loses none before it; as JSON all at the end."""
    if as_json:
        report(list(sheets), as_json=True)
        return
    for sheet in sheets:
        report([sheet], as_json=False)


def report_projects(
    doc: str | None,
    sheets: Callable[[Sequence[str], int], Iterable[Sheet]],
    projects: Sequence[str],
    what: str,
    number: int,
) -> None:
    """The command of a benchmark that measures projects: which ones, and how many of `what` in each."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", action="append", help=f"a source; by default {', '.join(projects)}")
    parser.add_argument(f"--{what}", dest="number", type=int, default=number, help=f"{what} per project")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    report(list(sheets(chosen.project or projects, chosen.number)), chosen.json)


def report(sheets: Sequence[Sheet], as_json: bool) -> None:
    """Print the sheets, as tables or as one JSON list."""
    if as_json:
        print(json.dumps([asdict(sheet) for sheet in sheets], indent=2))
        return
    for sheet in sheets:
        table = Table(sheet.title, "measured", "target", "met")
        for figure in sheet.figures:
            met = ("yes" if figure.met else "NO") if figure.target else ""
            table.add_row(figure.what, f"{number(figure.value)} {figure.unit}".strip(), figure.target, met)
        console = Console()
        console.print(table if sheet.figures else sheet.title)
        if sheet.note:
            console.print(sheet.note + "\n", highlight=False)


def number(value: float) -> str:
    """Whole numbers and thousands without decimals, two below ten, else one."""
    if value == int(value) or value >= 1000:
        return f"{value:.0f}"
    return f"{value:.{2 if value < 10 else 1}f}"
