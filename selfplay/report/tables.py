"""Tables for the terminal. Everything that comes from a repository is escaped: it may not style or hide anything."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from selfplay.artifact import Verdict
from selfplay.oracle.audit import Audit
from selfplay.oracle.grade import Grade
from selfplay.plain import printable


def short(policy: str) -> str:
    """A policy's name for a narrow place: of a model's folder its last part alone."""
    kind, _, model = policy.partition(":")
    return f"{kind}:{PurePosixPath(model).name}" if model.startswith(("/", ".", "~")) else policy


def safe(value: object) -> Text:
    """Text without markup or control characters, whatever a repository put into it."""
    return Text(printable(str(value)))


def bug_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The bugs of a run, a line each: `rows` as in `summary.json`."""
    table = Table(title="Verified bugs", title_justify="left", header_style="bold")
    table.add_column("bug", no_wrap=True)
    table.add_column("where", overflow="fold")
    for name in ("lines", "F2P", "P2P", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            safe(row["id"]),
            safe(", ".join(row["files"])),
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
        f"episodes: {figures['episodes']}, artifacts submitted: {figures['submitted']},"
        f" valid share {figures['valid_share']}, median changed lines {figures['median_changed_lines']}",
        _cost_line(summary["cost"], figures["bugs"]),
    ]
    if suite["failing_at_head"] or suite["flaky_at_head"]:
        left = f"{len(suite['failing_at_head'])} failing and {len(suite['flaky_at_head'])} flaky at HEAD"
        lines.append(f"tests left out: {left}")
    if suite["left_out_files"]:
        lines.append(f"test files left out: {', '.join(suite['left_out_files'])}")
    if figures["bugs"] < summary["wanted"]:
        lines.append(f"why not more: {figures['statuses']}, failed checks {figures['failed_checks']}")
    return Group(bug_table(summary["bugs"]), safe("\n".join([*lines, *summary["notes"]])))


def _cost_line(cost: Mapping[str, Any], bugs: int) -> str:
    wall = sum(cost[lap]["wall_seconds"] for lap in ("prepare", "bugs") if lap in cost)
    worth = cost.get("suite_runs_worth")
    per_bug = f", {worth / bugs:.1f} suite runs' worth of core time a bug" if worth and bugs else ""
    return f"took {wall:.0f} s{per_bug}"


def verdict_table(title: str, verdicts: Sequence[Verdict]) -> Table:
    """The checks of one bug, with what each said and cost."""
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    for name in ("check", "verdict", "seconds", "runs", "reason"):
        table.add_column(name, justify="right" if name in ("seconds", "runs") else "left")
    for verdict in verdicts:
        said = Text("passed", style="green") if verdict.passed else Text("failed", style="bold red")
        table.add_row(safe(verdict.check), said, f"{verdict.seconds:.2f}", str(verdict.runs), safe(verdict.reason))
    return table


def grade_table(title: str, grade: Grade) -> RenderableType:
    """What each layer said of a prediction, and what came of it."""
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    for name in ("layer", "said", "reason"):
        table.add_column(name)
    styles = {"passed": "green", "caught": "bold red"}
    for layer in grade.layers:
        table.add_row(layer.name, Text(layer.state, style=styles.get(layer.state, "yellow")), safe(layer.reason))
    end = Text("resolved" if grade.resolved else "not resolved", style="bold green" if grade.resolved else "bold red")
    cost = f" ({grade.runs} suite runs, {grade.seconds:.1f} s)"
    return Group(table, Text.assemble(end, safe(f": {grade.reason}: {grade.detail}{cost}")))


def grades_table(grades: Mapping[str, Grade]) -> RenderableType:
    """A line per bug, and how many are resolved."""
    table = Table(title="Grades", title_justify="left", header_style="bold")
    for name in ("bug", "grade", "detail"):
        table.add_column(name, overflow="fold")
    for bug, grade in grades.items():
        table.add_row(safe(bug), Text(grade.reason, style="green" if grade.resolved else "red"), safe(grade.detail))
    resolved = sum(grade.resolved for grade in grades.values())
    return Group(table, safe(f"{resolved} of {len(grades)} resolved"))


def audit_table(title: str, audit: Audit) -> RenderableType:
    """What a search of the solver's world found, and how much of the answer each place gives away."""
    if audit.clean:
        return safe(f"{title}: clean; {audit.lines} lines were searched for")
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    for name in ("where", "kind", "share of the answer"):
        table.add_column(name, overflow="fold")
    for finding in audit.findings:
        table.add_row(safe(finding.where), finding.kind, f"{finding.share:.0%}")
    return table
