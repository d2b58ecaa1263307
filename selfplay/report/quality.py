"""The figures of a curriculum for people: how good its bugs are, and who solved how many of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from selfplay.formatting import count, tally
from selfplay.report.tables import safe

NO_BUGS = "no bugs to tell of"
MEASURED = ("worlds searched for leaks", "gold patch resolved", "untouched world resolved", "weakly assured grades")
"""The figures that imported tasks also have."""


def quality_report(summary: Mapping[str, Any]) -> RenderableType:
    """The quality gates and the solve rates of `summary.json`."""
    made = not summary.get("imported")  # for imported tasks, only what was measured here is known
    parts: list[RenderableType] = [quality_table(summary["quality"], summary["solving"], made)]
    if summary["solving"]:
        parts.append(solve_table(summary["solving"]))
    return Group(*parts)


def quality_table(quality: Mapping[str, Any], solving: Mapping[str, Any], made: bool = True) -> Table:
    """A line per figure; for bugs that were not `made` here, only those of worlds and controls."""
    table = Table(title="Quality", title_justify="left", header_style="bold")
    table.add_column("figure")
    table.add_column("value")
    for name, value in (
        ("changed lines", _spread(quality["changed_lines"])),
        ("files per bug", _spread(quality["files_per_bug"])),
        ("F2P tests per bug", _spread(quality["fail_to_pass"])),
        ("share of F2P hidden", _hidden(quality["hidden_share"])),
        ("one-line bugs", _percent(quality["one_line_share"])),
        ("duplicates submitted", _percent(quality["duplicate_rate"])),
        ("near-duplicates", _percent(quality["near_duplicate_rate"])),
        ("flaky tests", _percent(quality["flaky_rate"])),
        ("entropy over files", _entropy(quality["entropy_files"])),
        ("entropy over functions", _entropy(quality["entropy_functions"])),
        ("worlds searched for leaks", _leaks(quality)),
        ("gold patch resolved", _control(solving, "gold")),
        ("untouched world resolved", _control(solving, "empty")),
        ("weakly assured grades", _weak(solving)),
        ("second-order bugs", _second_order(quality["second_order"])),
    ):
        if made or name in MEASURED:
            table.add_row(name, safe(value))
    return table


def solve_table(solving: Mapping[str, Any]) -> Table:
    """A line per policy and order of bugs."""
    table = Table(title="Attempts", title_justify="left", header_style="bold")
    table.add_column("policy", overflow="fold")  # a model's folder may be long, and its end identifies it
    table.add_column("order")
    for name in ("bugs", "resolved", "mean solve rate", "solved once", "0 < rate < 1"):
        table.add_column(name, justify="right")
    table.add_column("bugs by number of solves")
    for policy, found in solving.items():
        for order in ("order_1", "order_2"):
            rates = found[order]
            if rates["bugs"]:
                histogram = ", ".join(f"{bugs} solved {times(solves)}" for solves, bugs in rates["histogram"].items())
                resolved = f"{rates['resolved']} of {rates['attempts']}"
                numbers = (rates["bugs"], resolved, f"{rates['mean_solve_rate']:.1%}")
                once = (rates["solved_at_least_once"], rates["strictly_between"])
                table.add_row(safe(policy), order[-1], *map(str, (*numbers, *once)), safe(histogram))
    return table


def times(number: str) -> str:
    return {"0": "never", "1": "once", "2": "twice"}.get(number, f"{number} times")


def _control(solving: Mapping[str, Any], name: str) -> str:
    if name not in solving:
        return f"not measured; `selfplay solve --policy {name} --attempts 3` does"
    rates = [solving[name][order] for order in ("order_1", "order_2")]
    resolved, attempts = sum(r["resolved"] for r in rates), sum(r["attempts"] for r in rates)
    return f"{resolved} of {attempts}, on {count(sum(r['bugs'] for r in rates), 'bug')}"


def _weak(solving: Mapping[str, Any]) -> str:
    """How many attempts that passed every layer are weakly assured, and which layers could show nothing."""
    passed, weak, layers = 0, 0, Counter[str]()
    for found in solving.values():
        states = found.get("assurance", {})  # earlier summaries lack it
        passed, weak = passed + sum(states.values()), weak + states.get("weak", 0)
        layers.update(found.get("weak_layers", {}))
    if not passed:
        return "no attempt passed every layer"
    return f"{weak} of {passed}" + (
        f": {', '.join(f'{name} {n}' for name, n in layers.most_common())}" if layers else ""
    )


def _second_order(found: Mapping[str, Any]) -> str:
    dropped = tally({status: n for status, n in found["statuses"].items() if status != "promoted"})
    return f"{found['bugs']}" + (f"; not promoted: {dropped}" if dropped else "")


def _spread(value: Mapping[str, float] | None) -> str:
    if value is None:
        return NO_BUGS
    return f"median {value['median']:g}, mean {value['mean']:g}, {value['least']:g} to {value['most']:g}"


def _hidden(value: Mapping[str, float] | None) -> str:
    """The share of deciding tests that solvers are not shown."""
    if value is None:
        return NO_BUGS
    if not value["most"]:
        return "none: solvers are shown every test that decides (--public-share hides some)"
    return f"median {value['median']:.0%}, mean {value['mean']:.0%}, {value['least']:.0%} to {value['most']:.0%}"


def _leaks(quality: Mapping[str, Any]) -> str:
    leaking, unaudited = quality["leaking"], len(quality.get("not_auditable", ()))  # earlier summaries lack it
    if not quality["audited"]:
        return "none yet; `selfplay solve` searches each before it is attempted"
    said = f"{quality['audited']}, {count(leaking, 'leaks', 'leak') if leaking else 'none leaks'}"
    return f"{said}, {unaudited} cannot be audited" if unaudited else said


def _percent(value: float | None) -> str:
    return NO_BUGS if value is None else f"{value:.1%}"


def _entropy(value: Mapping[str, float]) -> str:
    if not value["names"]:
        return NO_BUGS
    return f"{value['bits']:.2f} of {value['most']:.2f} bits, {value['names']} touched"
