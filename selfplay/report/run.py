"""The page of a run: its bugs, the main figures, the quality of the bugs, and how many each policy solved."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from selfplay.curriculum.ends import told
from selfplay.formatting import count, listed, spoken, tally
from selfplay.report.progress import episodes_came_to
from selfplay.report.quality import quality_report
from selfplay.report.repositories import repository_page
from selfplay.report.tables import bug_table, imported_table, safe, second_order_table
from selfplay.rollout.controls import CONTROLS

MOST_ROWS = 200
"""The most bugs shown one by one; `--json` has them all."""


def run_page(summary: Mapping[str, Any], out: Path) -> RenderableType:
    """The whole page of a run. Without a bug: no table of bugs or of their quality, but why there is none. For a run
    killed before its suite was measured, only the quality is shown."""
    parts: list[RenderableType] = []
    several = len(summary["repositories"]) > 1
    if _is_empty(summary):
        measured = "suite" in summary or several
        parts.append(safe("\n".join(_lines(summary, out)) if measured else _nothing_yet(summary, out)))
        return Group(*parts, *([repository_page(summary["repositories"])] if several else ()))
    if "suite" in summary or several:
        parts += [bug_table(summary["bugs"][:MOST_ROWS], CONTROLS), safe("\n".join(_lines(summary, out)))]
    if several:
        parts.append(repository_page(summary["repositories"]))
    second = summary.get("second_order_bugs", [])
    if second:
        parts.append(second_order_table(second[:MOST_ROWS], CONTROLS))
    imported = summary.get("imported", [])
    if imported:
        parts.append(imported_table(imported[:MOST_ROWS], CONTROLS))
    return Group(*parts, quality_report(summary))


def _is_empty(summary: Mapping[str, Any]) -> bool:
    """Whether there is nothing whose quality could be told: no bug of any kind, and no attempt."""
    others = (summary.get("second_order_bugs"), summary.get("imported"), summary.get("solving"))
    return not summary["figures"]["bugs"] and not any(others)


def _nothing_yet(summary: Mapping[str, Any], out: Path) -> str:
    episodes = summary["figures"]["episodes"]
    why = summary.get("stopped") or (f"{count(episodes, 'episode')} so far" if episodes else "no episode is finished")
    return f"no bug in {out}: {why}"


def _lines(summary: Mapping[str, Any], out: Path) -> Iterator[str]:
    figures = summary["figures"]
    wanted = summary.get("wanted", sum(row["wanted"] for row in summary["repositories"]))  # no summary yet
    yield f"{figures['bugs']} of {count(wanted, 'bug')} ({summary.get('stopped') or 'not finished'}) in {out}"
    yield _made(figures)
    yield from lost_lines(figures)
    yield from _cost(summary.get("cost", {}), figures["bugs"])
    yield from _suite(summary.get("suite"))
    if figures["bugs"] < wanted:
        yield _why_not_more(figures)
    yield from summary.get("notes", ())


def _why_not_more(figures: Mapping[str, Any]) -> str:
    """The outcomes of the episodes, the checks that failed, and the commonest reasons of the others."""
    failed, reasons = tally(figures["failed_checks"]), told(figures.get("reasons", {}))  # earlier summaries lack them
    said = f"why not more: {episodes_came_to(figures['statuses'])}" + (f" (by check: {failed})" if failed else "")
    return f"{said}: {reasons}" if reasons else said


def _suite(suite: Mapping[str, Any] | None) -> Iterator[str]:
    """The suite of a run with one repository."""
    if suite is None:
        return
    size = f"{count(suite['tests'], 'test')} in {count(suite['files'], 'file')}"
    yield f"suite: {size}, {suite['wall_seconds']:.1f} s a run"
    if suite["failing_at_head"] or suite["flaky_at_head"]:
        left = f"{len(suite['failing_at_head'])} failing and {len(suite['flaky_at_head'])} flaky at HEAD"
        yield f"tests left out: {left} ({listed([*suite['failing_at_head'], *suite['flaky_at_head']], 3)})"
    if suite["left_out_files"]:
        yield f"test files left out: {listed(suite['left_out_files'])}"


def _made(figures: Mapping[str, Any]) -> str:
    """The outcomes of the episodes."""
    said = f"{count(figures['episodes'], 'episode')}, {count(figures['submitted'], 'artifact')} handed in"
    if figures["valid_share"] is not None:
        said += f", {figures['valid_share']:.0%} of them valid"
    if figures["median_changed_lines"] is not None:
        said += f", {figures['median_changed_lines']:g} changed lines in the median"
    return said


def lost_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """How many jobs were played again, and which could not be played."""
    if again := figures.get("played_again", 0):
        was = count(again, "job was", "jobs were")
        yield f"{was} played again since {'its' if again == 1 else 'their'} sandbox was lost"
    for job, why in figures.get("unplayed", {}).items():
        yield f"could not be played: {job} ({why})"


def _cost(cost: Mapping[str, Any], bugs: int) -> Iterator[str]:
    """The cost of the run, over all its phases and resumptions, as `cost` counts it."""
    wall = sum(lap["wall_seconds"] for lap in cost.values() if isinstance(lap, Mapping))
    worth = cost.get("suite_runs_worth")
    if wall:
        each = f", {worth / bugs:.1f} suite runs' worth of core time a bug" if worth and bugs else ""
        yield f"took {spoken(wall)}{each}"
