"""The curves of a training run from the figures of its steps: lines, and stacked counts per step."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from selfplay.loop.metrics import Figures, counts, number, part
from selfplay.loop.monitors import Monitors, alarms
from selfplay.report.html.diffs import clean
from selfplay.report.html.figures import BINS, binned

ROLES = ("injector", "solver")
MOST_POINTS = 1_000
"""The most points of one curve: of a longer run every n-th step is drawn, and the last one."""
Values = list[float | None]


def training(history: Sequence[Figures]) -> dict[str, Any] | None:
    """Everything that is shown of a training run; None without a finished step."""
    if not history:
        return None
    every = -(-len(history) // MOST_POINTS)
    steps = [*history[: len(history) - 1 : every], history[-1]]
    return {
        "steps": len(history), "at": [_at(step, place) for place, step in enumerate(steps)],
        "lines": [_line(*one, steps) for one in LINES],
        "stacks": [_stack("solve-rates", "Solver groups by solve rate", BINS, map(_rates, steps)),
                   _stack("outcomes", "How injections ended", ("valid", "duplicate", "invalid"), map(_ends, steps))],
        "failed": _failed(history),
        "nothing": [clean(str(step["nothing"]))[:300] for step in history[-1:] if step.get("nothing")],
        "alarms": [clean(one.words()) for one in alarms(history, Monitors())],
    }  # fmt: skip


def _at(step: Figures, place: int) -> int:
    """A step's number, counted from 1."""
    at = number(step, "number")
    return place + 1 if at is None or not 0 <= at < 1e9 else int(at) + 1


def _reward(role: str) -> Callable[[Figures], float | None]:
    return lambda step: number(step, "rollouts", role, "reward", "mean")


def _valid(step: Figures) -> float | None:
    ends = counts(step, "rollouts", "injector", "outcomes")
    return ends.get("valid", 0) / total if (total := sum(ends.values())) else None


def _solved(step: Figures) -> float | None:
    ends = counts(step, "rollouts", "solver", "outcomes")
    return ends.get("resolved", 0) / total if (total := sum(ends.values())) else None


def _behind(role: str) -> Callable[[Figures], float | None]:
    """The mean staleness of a role's episodes, in versions."""

    def mean(step: Figures) -> float | None:
        found = {name: n for name, n in counts(step, "rollouts", role, "versions_behind").items() if name.isdecimal()}
        total = sum(found.values())
        return sum(int(name[:9]) * n for name, n in found.items()) / total if total else None

    return mean


def _entropy(role: str) -> Callable[[Figures], float | None]:
    return lambda step: number(step, "tokens", role, "entropy")


def _sampled(step: Figures) -> float | None:
    """Sampled tokens per second of the whole step."""
    phases = part(step, "phases")
    seconds = sum(number(phases, name) or 0.0 for name in phases)
    return _speed(sum(number(step, "rollouts", role, "tokens") or 0.0 for role in ROLES), seconds)


def _trained(step: Figures) -> float | None:
    return _speed(number(step, "step", "tokens") or 0.0, number(step, "phases", "learn") or 0.0)


def _speed(tokens: float, seconds: float) -> float | None:
    return tokens / seconds if tokens > 0 and seconds > 0 else None


def _both(made: Callable[[str], Callable[[Figures], float | None]]) -> dict[str, Callable[[Figures], float | None]]:
    return {role: made(role) for role in ROLES}


Line = tuple[str, str, str, dict[str, Callable[[Figures], float | None]]]
LINES: Sequence[Line] = (
    ("reward", "Mean reward by role", "", _both(_reward)),
    ("shares", "Valid injections and solved attempts", "%", {"valid": _valid, "solved": _solved}),
    ("staleness", "Staleness: versions behind, mean", "", _both(_behind)),
    ("entropy", "Entropy of the policy's tokens, nats", "", _both(_entropy)),
    ("sampled", "Tokens sampled a second", "", {"sampled": _sampled}),
    ("trained", "Tokens trained on a second", "", {"trained": _trained}),
    ("ratio", "Ratio of trainer to engine, mean", "",
     {"both roles": lambda step: number(step, "tokens", "both", "ratio")}),
    ("gradient", "Gradient norm", "", {"norm": lambda step: number(step, "step", "gradient")}),
)  # fmt: skip
"""Name, title, unit, and the figure of each line."""


def _line(
    name: str, title: str, unit: str, measured: dict[str, Callable[[Figures], float | None]], steps: Sequence[Figures]
) -> dict[str, Any]:
    series: dict[str, Values] = {
        what: [_rounded(measure(step)) for step in steps] for what, measure in measured.items()
    }
    return {"name": name, "title": title, "unit": unit, "series": series}


def _rounded(value: float | None) -> float | None:
    """Six significant digits are more than a curve shows."""
    return None if value is None or abs(value) > 1e15 else float(f"{value:.6g}")


def _rates(step: Figures) -> list[int]:
    """Groups by `solved/attempts`."""
    found = [0] * len(BINS)
    for name, groups in counts(step, "rollouts", "solver", "groups").items():
        solved, _, tried = name.partition("/")
        if solved.isdecimal() and tried.isdecimal() and len(name) < 20 and 0 < int(tried) >= int(solved):
            found = [had + groups * one for had, one in zip(found, binned([int(solved) / int(tried)]), strict=True)]
    return found


def _ends(step: Figures) -> list[int]:
    ends = counts(step, "rollouts", "injector", "outcomes")
    return [ends.get(name, 0) for name in ("valid", "duplicate", "invalid")]


def _stack(name: str, title: str, names: Sequence[str], found: Iterable[list[int]]) -> dict[str, Any]:
    return {"name": name, "title": title, "names": list(names), "columns": [*found]}


def _failed(history: Sequence[Figures]) -> dict[str, int]:
    """The failed checks of all steps' injections."""
    total: dict[str, int] = {}
    for step in history:
        for name, n in counts(step, "rollouts", "injector", "checks").items():
            if len(total) < 30 or name in total:
                total[name] = total.get(name, 0) + n
    return {clean(name)[:80]: n for name, n in sorted(total.items(), key=lambda one: -one[1])}
