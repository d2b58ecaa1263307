"""Tables for the terminal. All text from a repository is escaped, so that it cannot style or hide anything."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from selfplay.artifact import Verdict
from selfplay.formatting import count, listed, tally
from selfplay.oracle.grades import Grade, assurance
from selfplay.oracle.leak_audit.audit import Audit, AuditState
from selfplay.oracle.reasons import reason_in_words
from selfplay.plain_text import printable

HEADING = 80
"""Columns of a heading, also where a page has no end."""


def short(policy: str) -> str:
    """A policy's name for a narrow column: for a model's folder only the last part."""
    kind, _, model = policy.partition(":")
    return f"{kind}:{PurePosixPath(model).name}" if model.startswith(("/", ".", "~")) else policy


def heading(title: str) -> RenderableType:
    """A line that begins a part of a page."""
    return Constrain(Rule(safe(title), align="left"), HEADING)


def safe(value: object) -> Text:
    """Text without markup or control characters, even if a repository put some into it."""
    return Text(printable(str(value)))


def bug_table(rows: Sequence[Mapping[str, Any]], controls: Sequence[str] = ()) -> Table:
    """The first-order bugs of a run, one per line: `rows` as in `summary.json`. Solve counts are shown for bugs that a
    policy other than the `controls` attempted."""
    solved = any(_solvers(row, controls) for row in rows)
    table = Table(title="Bugs", title_justify="left", header_style="bold")
    table.add_column("bug", no_wrap=True)
    table.add_column("where", overflow="fold")
    for name in ("lines", "F2P", "P2P", "seconds"):
        table.add_column(name, justify="right")
    if solved:
        table.add_column("solved", overflow="fold")
    for row in rows:
        cells = [str(row["changed_lines"]), str(row["fail_to_pass"]), str(row["pass_to_pass"]), f"{row['seconds']:.1f}"]
        last = [_solvers(row, controls)] if solved else []
        table.add_row(safe(row["id"]), safe(", ".join(row["files"])), *cells, *last)
    return table


def second_order_table(rows: Sequence[Mapping[str, Any]], controls: Sequence[str] = ()) -> Table:
    """The second-order bugs of a run, one per line."""
    table = Table(title="Second-order bugs", title_justify="left", header_style="bold")
    table.add_column("bug", no_wrap=True)
    table.add_column("made of", overflow="fold")
    for name in ("F2P", "P2P"):
        table.add_column(name, justify="right")
    table.add_column("solved", overflow="fold")
    for row in rows:
        cells = (str(row["fail_to_pass"]), str(row["pass_to_pass"]))
        made_of = f"attempt {row['attempt']['number']} of {short(row['attempt']['policy'])}"
        table.add_row(safe(row["id"]), safe(made_of), *cells, _solvers(row, controls))
    return table


def imported_table(rows: Sequence[Mapping[str, Any]], controls: Sequence[str] = ()) -> Table:
    """The imported tasks of a run, one per line."""
    table = Table(title="Imported tasks", title_justify="left", header_style="bold")
    table.add_column("task", overflow="fold")
    table.add_column("of", overflow="fold")
    for name in ("order", "F2P", "P2P"):
        table.add_column(name, justify="right")
    table.add_column("tests hidden")
    table.add_column("solved", overflow="fold")
    for row in rows:
        cells = (str(row["order"]), str(row["fail_to_pass"]), str(row["pass_to_pass"]))
        hidden = "yes" if row["weakened"] else "no"
        table.add_row(safe(row["id"]), safe(row["source"]), *cells, hidden, _solvers(row, controls))
    return table


def _solvers(row: Mapping[str, Any], controls: Sequence[str]) -> Text:
    """How often each policy solved a bug, one per line."""
    return safe("\n".join(solve_lines({k: v for k, v in row.get("solved", {}).items() if k not in controls})))


def solve_lines(solved: Mapping[str, Mapping[str, int]]) -> list[str]:
    """`scripted 3 of 8` for each policy that tried."""
    return [f"{short(policy)} {found['resolved']} of {found['attempts']}" for policy, found in solved.items()]


def verdict_table(title: str, verdicts: Sequence[Verdict]) -> Table:
    """The checks of one bug, with the result and the cost of each."""
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    for name in ("check", "verdict", "seconds", "runs", "reason"):
        table.add_column(name, justify="right" if name in ("seconds", "runs") else "left")
    for verdict in verdicts:
        said = Text("passed", style="green") if verdict.passed else Text("failed", style="bold red")
        table.add_row(safe(verdict.check), said, f"{verdict.seconds:.2f}", str(verdict.runs), safe(verdict.reason))
    return table


def grade_table(title: str, grade: Grade) -> RenderableType:
    """The result of each layer for a prediction, and the grade."""
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    for name in ("layer", "said", "reason"):
        table.add_column(name)
    styles = {"passed": "green", "caught": "bold red"}
    for layer in grade.layers:
        table.add_row(layer.name, Text(layer.state, style=styles.get(layer.state, "yellow")), safe(layer.reason))
    end = Text("resolved" if grade.resolved else "not resolved", style="bold green" if grade.resolved else "bold red")
    cost = f" ({count(grade.runs, 'suite run')}, {grade.seconds:.1f} s)"
    said = [safe(f"note: {note}") for note in grade.notes]
    if grade.left_out:
        said.append(safe(f"left out: {listed(f'{path} ({why})' for path, why in grade.left_out)}"))
    said += [safe(f"assurance: {one}") for one in _assured(grade)]
    why = grade.detail if grade.resolved else f"{reason_in_words(grade.reason)}: {grade.detail}"
    return Group(table, *said, Text.assemble(end, safe(f": {why}{cost}")))


def _assured(grade: Grade) -> list[str]:
    """How sure a grade that passed every layer is, with each reason why it is not."""
    known = assurance(grade)
    return [f"{known}: {why}" for why in grade.weaknesses] if grade.weaknesses else [known] if known else []


def grades_table(grades: Mapping[str, Grade]) -> RenderableType:
    """A line per bug, and how many are resolved."""
    table = Table(title="Grades", title_justify="left", header_style="bold")
    for name in ("bug", "grade", "assurance", "detail"):
        table.add_column(name, overflow="fold")
    for bug, grade in grades.items():
        reason = reason_in_words(grade.reason)
        style = "green" if grade.resolved else "red"
        why = "; ".join([grade.detail, *grade.weaknesses])
        table.add_row(safe(bug), Text(reason, style=style), assurance(grade), safe(why))
    resolved = sum(grade.resolved for grade in grades.values())
    return Group(table, safe(f"{resolved} of {len(grades)} resolved"))


def verdict_line(valid: Mapping[str, bool], unchecked: Collection[str] = ()) -> str:
    """The result of checking bugs again, in one line; `unchecked`: those of them that could not be checked."""
    wrong = sorted(bug for bug, one in valid.items() if not one and bug not in unchecked)
    said = f"{sum(valid.values())} of {count(len(valid), 'bug')} valid"
    said += f", not: {listed(wrong)}" if wrong else ""
    return f"{said}; could not be checked: {listed(sorted(unchecked))}" if unchecked else said


def audit_line(states: Mapping[str, str]) -> str:
    """The result of searching the worlds of several bugs, in one line."""
    counts = tally(Counter(states.values()))
    wrong = sorted(bug for bug, state in states.items() if state == "failed")
    said = f"{count(len(states), 'bug')}: {counts}"
    return f"{said}; could not be audited: {listed(wrong)}" if wrong else said


def unaudited_line(title: str, fault: str) -> RenderableType:
    """What is wrong with a bug whose world could not be searched."""
    return safe(f"{title}: could not be audited: {fault}")


def audit_table(title: str, audit: Audit) -> RenderableType:
    """What a search of the solver's world found, how much of the answer each place reveals, and what was not read."""
    notes = [safe(f"git data taken out: {one}") for one in audit.removed]
    notes += [safe(f"not read: {where}: {why}") for where, why in audit.unread.items()]
    if audit.state is AuditState.NOT_AUDITABLE:
        return Group(safe(f"{title}: not auditable: {audit.reason}"), *notes)
    if audit.clean:
        searched = f"{count(audit.lines, 'line')} and {count(audit.shingles, 'run of tokens', 'runs of tokens')}"
        return Group(safe(f"{title}: clean; searched for {searched}"), *notes)
    table = Table(title=safe(title), title_justify="left", header_style="bold")
    for name in ("where", "kind", "share of the answer"):
        table.add_column(name, overflow="fold")
    for finding in audit.findings:
        table.add_row(safe(finding.where), finding.kind, f"{finding.share:.0%}")
    return Group(table, *notes)
