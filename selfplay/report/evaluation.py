"""The page of an evaluation: a table of pass@k, or of how injections ended, and lines about cost and comparison."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from selfplay.curriculum.evaluation import Cost, Evaluation, EvaluationRow
from selfplay.curriculum.injector_evaluation import InjectorEvaluation
from selfplay.formatting import count, listed, spaced, tally
from selfplay.oracle.reasons import WORDS
from selfplay.report.tables import safe, short
from selfplay.rl.credit.estimates import LEVEL, Estimate


def evaluation_page(found: Evaluation | InjectorEvaluation) -> RenderableType:
    """The page of `selfplay eval`."""
    return injector_page(found) if isinstance(found, InjectorEvaluation) else solver_page(found)


def injector_page(found: InjectorEvaluation) -> RenderableType:
    """The page of a run's injector: how its injections ended, and their rewards against a solver."""
    table = Table(title="injections", title_justify="left", header_style="bold")
    for name in ("ended", "episodes", "share"):
        table.add_column(name, justify="left" if name == "ended" else "right")
    for end, one in found.ends.items():
        table.add_row(safe(end), str(one.episodes), _estimate(one.share))
    rewarded = found.episodes - sum(found.unrewarded.values())
    told = [f"without one: {tally(found.unrewarded)}"] if found.unrewarded else []
    told += [f"lost by the machine: {found.lost}"] if found.lost else []
    reward = "none" if found.reward is None else _number(found.reward)
    shown = [one.share for one in found.ends.values()] + ([found.reward] if found.reward else [])
    lines = [
        *_brackets(shown, f"from {count(found.groups, 'prompt')} resampled"),
        f"solver: {short(found.solver)}, {count(found.attempts, 'attempt')} at each bug",
        "; ".join([f"mean reward {reward} of {rewarded} of {count(found.episodes, 'episode')}", *told]),
        f"bugs: {_diversity(found.diversity)}",
    ]
    if (other := found.against) is not None:
        reward = "none in common" if other.reward is None else _number(other.reward)
        lines.append(
            f"against {short(other.run)}, the same {count(other.groups, 'prompt')}: difference of the valid share "
            f"{_estimate(other.valid, signed=True)}, of the reward {reward}"
        )
        lines.append(f"its bugs: {_diversity(other.diversity)}")
    return Group(table, *(safe(line) for line in lines))


def _diversity(found: Mapping[str, Any]) -> str:
    near, files, functions = (found[name] for name in ("near_duplicate_rate", "entropy_files", "entropy_functions"))
    alike = "none" if near is None else f"{near:.1%}"
    return f"near-duplicates {alike}, entropy over files {files['bits']} bits, over functions {functions['bits']} bits"


def _number(found: Estimate) -> str:
    interval = "" if found.low is None else f" ({found.low:+.3f} to {found.high:+.3f})"
    return f"{found.mean:+.3f}{interval}"


def solver_page(found: Evaluation) -> RenderableType:
    """The page of a policy's attempts at the bugs of a run."""
    lines = [
        *_brackets([one for row in found.rows for one in row.pass_at.values()], "from resampled bugs"),
        f"why attempts ended: {_ends(found.reasons)}",
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


def _name(row: EvaluationRow) -> str:
    return f"{row.kind} {row.value}".strip()


def _estimate(found: Estimate, signed: bool = False) -> str:
    sign = "+" if signed else ""
    said = f"{found.mean:{sign}.1%}"
    if found.low is None or found.high is None:
        return said
    return f"{said} ({found.low:{sign}.1%} to {found.high:{sign}.1%})"


def _brackets(shown: Sequence[Estimate], origin: str) -> list[str]:
    """What the brackets behind the estimates are; no line where none has any."""
    return [f"in brackets: {LEVEL:.0%} intervals, {origin}"] if any(one.low is not None for one in shown) else []


def _ends(reasons: Mapping[str, int]) -> str:
    """`tests fail 12, resolved 4`: the largest first. The number stands behind, as it counts attempts, not tests."""
    found = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{WORDS.get(name) or spaced(name)} {n}" for name, n in found if n)


def _cost(cost: Cost) -> str:
    said = f"an attempt: {cost.seconds:.1f} s, {cost.calls:.1f} calls"
    if cost.prompt_tokens or cost.completion_tokens:
        said += f", {cost.prompt_tokens:,.0f} tokens read and {cost.completion_tokens:,.0f} written"
    return said + (f", {cost.cost:.4f} of the currency of the prices" if cost.cost else "")
