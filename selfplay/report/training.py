"""The page of a training run: its last steps, and the newest one in detail. The figures are untrusted: they are read as
typed values, and nothing in them styles the terminal."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from selfplay.formatting import count
from selfplay.loop.metrics import Figures, counts, number, part
from selfplay.loop.monitors import Monitors, alarms
from selfplay.report.tables import safe

MOST_ROWS = 12
"""How many of the newest steps are shown."""
WIDEST = 24
"""The width of the longest bar in characters."""
COLUMNS = (
    "step", "weights", "injector's reward", "solver's reward", "valid", "solved", "teach", "ratio", "clipped",
    "entropy", "seconds",
)  # fmt: skip
ROLES = ("injector", "solver")
NAMED = 40
"""The most characters of a name from the figures."""


def training_page(history: Sequence[Figures], monitors: Monitors = Monitors()) -> RenderableType:
    """The whole page, or a note that no step is finished."""
    if not history:
        return safe("training: no step is finished")
    return Group(steps_table(history), safe("\n".join(last_step(history, monitors))))


def steps_table(history: Sequence[Figures]) -> Table:
    """A row for each of the newest steps."""
    table = Table(title=f"Training: {count(len(history), 'step')}", title_justify="left", header_style="bold")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for step in history[-MOST_ROWS:]:
        table.add_row(*(safe(cell) for cell in _cells(step)))
    return table


def _cells(step: Figures) -> Iterator[str]:
    at = number(step, "number")
    yield _said(None if at is None else at + 1, "{:.0f}")
    yield _said(number(step, "version"), "{:.0f}")
    for role in ROLES:
        yield _said(number(step, "rollouts", role, "reward", "mean"), "{:+.2f}")
    outcomes = counts(step, "rollouts", "injector", "outcomes")
    yield _of(outcomes.get("valid", 0), sum(outcomes.values()))
    outcomes = counts(step, "rollouts", "solver", "outcomes")
    yield _of(outcomes.get("resolved", 0), sum(outcomes.values()))
    yield _of(
        *(int(sum(number(step, "rollouts", role, name) or 0 for role in ROLES)) for name in ("trained_on", "episodes"))
    )
    for name, form in (("ratio", "{:.3f}"), ("clipped", "{:.1%}"), ("entropy", "{:.2f}")):
        yield _said(number(step, "tokens", "both", name), form)
    phases = part(step, "phases")
    yield _said(sum(number(phases, name) or 0.0 for name in phases) if phases else None, "{:.0f}")


def last_step(history: Sequence[Figures], monitors: Monitors) -> Iterator[str]:
    """The newest step in detail: groups by solve rate, artifacts by check, staleness, ratios, tokens per second, and
    monitors beyond their limits."""
    step = history[-1]
    groups = counts(step, "rollouts", "solver", "groups")
    if groups:
        yield "groups by attempts that solved the bug:"
        yield from _bars(groups)
    failed = counts(step, "rollouts", "injector", "checks")
    if failed:
        yield "injections that failed, by check:"
        yield from _bars(failed)
    diversity = number(step, "rollouts", "injector", "diversity")
    if diversity is not None:
        yield f"bugs unlike the others of the step: {diversity:.0%}"
    for role in ROLES:
        yield from _of_role(step, role)
    yield from _speeds(step)
    if isinstance(step.get("nothing"), str):
        yield f"nothing to learn: {str(step['nothing'])[:200]}"
    yield from (f"beyond its limit: {one.words()}" for one in alarms(history, monitors))


def _of_role(step: Figures, role: str) -> Iterator[str]:
    behind = counts(step, "rollouts", role, "versions_behind")
    if behind:
        yield f"{role}, versions behind: {_tally(behind)}"
    yield from _spent(step, role)
    left = counts(step, "rollouts", role, "without_a_gradient")
    if left:
        yield f"{role}, without a gradient: {_tally(left)}"
    found = {
        name: number(step, "tokens", role, name) for name in ("ratio", "ratio_min", "ratio_max", "clipped", "entropy")
    }
    if None not in found.values():
        effective = number(step, "tokens", role, "effective_sample_size")  # steps of before do not have it
        size = "" if effective is None else f"effective sample size {effective:.1%}, "
        yield (
            f"{role}: ratio {found['ratio']:.4f} ({found['ratio_min']:.3f} to {found['ratio_max']:.3f}), {size}"
            f"clipped {found['clipped']:.1%}, entropy {found['entropy']:.3f}"
        )


def _spent(step: Figures, role: str) -> Iterator[str]:
    """Seconds of the role's episodes by what they were spent on, and sampled tokens per second of generation."""
    where = {
        name: seconds
        for name in ("generation", "tools", "judging", "rest")
        if (seconds := number(step, "spent", role, name)) is not None
    }
    if not any(where.values()):
        return
    yield f"{role}, seconds of its episodes: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in where.items())
    tokens, generation = number(step, "rollouts", role, "tokens") or 0.0, where.get("generation", 0.0)
    if tokens > 0 and generation > 0:
        yield f"{role}: {tokens / generation:,.0f} tokens/s within an episode"


def _speeds(step: Figures) -> Iterator[str]:
    """Seconds by phase; sampled tokens per second of the step, trained tokens per second of the update."""
    phases = {
        name[:NAMED]: seconds for name in part(step, "phases") if (seconds := number(step, "phases", name)) is not None
    }
    if not phases:
        return
    yield "seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in phases.items())
    sampled = sum(number(step, "rollouts", role, "tokens") or 0.0 for role in ROLES)
    trained = number(step, "step", "tokens") or 0.0
    for what, tokens, seconds in (
        ("sampled", sampled, sum(phases.values())),
        ("trained", trained, phases.get("learn", 0.0)),
    ):
        if tokens > 0 and seconds > 0:
            yield f"{what}: {tokens / seconds:,.0f} tokens/s"


def _bars(found: Mapping[str, int]) -> Iterator[str]:
    most, width = max(found.values()) or 1, max(len(name[:NAMED]) for name in found)
    for name, each in found.items():
        yield f"  {name[:NAMED]:>{width}} {'#' * round(WIDEST * each / most)} {each}"


def _tally(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name[:NAMED]}: {each}" for name, each in found.items())


def _of(some: int, all_of_them: int) -> str:
    return f"{some} of {all_of_them}" if all_of_them else "-"


def _said(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
