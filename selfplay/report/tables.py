"""Tables for the terminal. Everything that comes from a repository is escaped: it may not style or hide anything."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from selfplay.artifact import Verdict


def safe(value: object) -> Text:
    """Text without markup or control characters, whatever a repository put into it."""
    return Text("".join(c if c.isprintable() or c == "\n" else "�" for c in str(value)))


def bug_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The bugs of a run, a line each: `rows` as in `summary.json`."""
    table = Table(title="Verified bugs", title_justify="left", header_style="bold")
    for name, justify in (("bug", "left"), ("strategy", "left"), ("where", "left"), ("files", "right"),
                          ("lines", "right"), ("F2P", "right"), ("P2P", "right"), ("seconds", "right")):  # fmt: skip
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(
            safe(row["id"]),
            safe(row["strategy"]),
            safe(", ".join(row["files"])),
            str(len(row["files"])),
            str(row["changed_lines"]),
            str(row["fail_to_pass"]),
            str(row["pass_to_pass"]),
            f"{row['seconds']:.1f}",
        )
    return table


def run_report(summary: Mapping[str, Any], out: Path) -> RenderableType:
    """What a finished run prints: its bugs, the figures that matter, and what a reader should know."""
    figures, suite = summary["figures"], summary["suite"]
    lines = [
        f"{figures['bugs']} of {summary['wanted']} bugs ({summary['stopped']}) in {out}",
        f"suite: {suite['tests']} tests in {suite['files']} files, {suite['wall_seconds']:.1f} s a run",
        f"{figures['episodes']} episodes, {figures['submitted']} artifacts submitted, valid share {figures['valid_share']}",
    ]
    if suite["failing_at_head"] or suite["flaky_at_head"]:
        left = f"{len(suite['failing_at_head'])} failing and {len(suite['flaky_at_head'])} flaky at HEAD"
        lines.append(f"tests left out: {left}")
    if suite["left_out_files"]:
        lines.append(f"test files left out: {', '.join(suite['left_out_files'])}")
    if figures["bugs"] < summary["wanted"]:
        lines.append(f"why not more: {figures['statuses']}, failed checks {figures['failed_checks']}")
    return Group(bug_table(summary["bugs"]), safe("\n".join([*lines, *summary["notes"]])))


def verdict_table(title: str, verdicts: Sequence[Verdict]) -> Table:
    """The checks of one bug, with what each said and cost."""
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    for name in ("check", "verdict", "seconds", "runs", "reason"):
        table.add_column(name, justify="right" if name in ("seconds", "runs") else "left")
    for verdict in verdicts:
        said = Text("passed", style="green") if verdict.passed else Text("failed", style="bold red")
        table.add_row(verdict.check, said, f"{verdict.seconds:.2f}", str(verdict.runs), safe(verdict.reason))
    return table
