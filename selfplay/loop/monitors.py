"""Monitors of collapse: the figures of a run's steps -> warnings, each of which may stop the run. Pure.

    entropy     the policy's entropy fell below a share of that of the first steps
    diversity   share of new bugs that are unlike the others of their step
    invalid     share of injections whose artifact is not valid
    uniform     share of solver groups in which all attempts or none solve the bug: they teach nothing
    gibberish   share of episodes that the gibberish filter dropped
    length      mean tokens per episode changed by more than this factor since the first steps

The paper (arXiv 2512.18552) saw two of these go wrong in long runs: gibberish and similar bugs. A monitor compares the
mean of the last `window` steps that have its figure, and is silent with fewer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from selfplay.loop.config_base import ConfigSection, PositiveInt
from selfplay.loop.errors import TrainingError
from selfplay.loop.metrics import Figures, counts, number, part

Kind = Literal["below", "above", "fallen", "changed"]


class Watch(ConfigSection):
    """`limit`: the value from which it warns; None: never. `stop`: whether it also stops the run."""

    limit: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None
    stop: bool = False


LIMITS = {"entropy": 0.2, "diversity": 0.3, "invalid": 0.98, "uniform": 0.95, "gibberish": 0.05, "length": 3.0}


class Monitors(ConfigSection):
    """Each monitor's limit, and the steps over which it takes the mean."""

    window: PositiveInt = 5
    entropy: Watch = Watch(limit=LIMITS["entropy"])
    diversity: Watch = Watch(limit=LIMITS["diversity"])
    invalid: Watch = Watch(limit=LIMITS["invalid"])
    uniform: Watch = Watch(limit=LIMITS["uniform"])
    gibberish: Watch = Watch(limit=LIMITS["gibberish"])
    length: Watch = Watch(limit=LIMITS["length"])

    @model_validator(mode="before")
    @classmethod
    def _with_limits(cls, given: Any) -> Any:
        """A monitor that only sets `stop` keeps its default limit."""
        if not isinstance(given, Mapping):
            return given
        return {
            name: {"limit": LIMITS[name], **value} if name in LIMITS and isinstance(value, Mapping) else value
            for name, value in given.items()
        }

    @model_validator(mode="after")
    def _possible(self) -> "Monitors":
        for name in LIMITS:
            limit = self.of(name).limit
            if limit is not None and (limit <= 1) == (name == "length"):
                raise ValueError(f"{name}.limit is a {'factor above 1' if name == 'length' else 'share of at most 1'}")
        return self

    def of(self, name: str) -> Watch:
        """The monitor of this name."""
        found: Watch = getattr(self, name)
        return found


@dataclass(frozen=True)
class Alarm:
    """A monitor that is beyond its limit. `value` is what it compares with the limit."""

    monitor: str
    value: float
    limit: float
    stop: bool

    def words(self) -> str:
        said, _, _, advice = MONITORS[self.monitor]
        return f"{self.monitor}: {said.format(value=self.value, limit=self.limit)}. {advice}"


class Collapsed(TrainingError):
    """A monitor stopped the run."""


def alarms(history: Sequence[Figures], monitors: Monitors) -> list[Alarm]:
    """The monitors beyond their limits after the last step."""
    found = []
    for name, (_, kind, measure, _) in MONITORS.items():
        watch, values = monitors.of(name), [value for one in history if (value := measure(one)) is not None]
        value = _compared(kind, values, monitors.window)
        if watch.limit is not None and value is not None and _beyond(kind, value, watch.limit):
            found.append(Alarm(name, value, watch.limit, watch.stop))
    return found


def refuse_collapse(history: Sequence[Figures], monitors: Monitors) -> list[Alarm]:
    """The alarms that only warn. Raises `Collapsed` if one of them stops the run."""
    found = alarms(history, monitors)
    for one in found:
        if one.stop:
            raise Collapsed(
                f"a monitor stopped the run: {one.words()}",
                f"What was learned is kept. To continue anyway: monitors.{one.monitor}.stop=false, or another limit.",
            )
    return found


def _compared(kind: Kind, values: Sequence[float], window: int) -> float | None:
    """The value to compare with the limit: the last steps' mean, or its ratio to the first steps' mean."""
    if len(values) < window:
        return None
    last = fmean(values[-window:])
    if kind in ("below", "above"):
        return last
    first = fmean(values[:window])
    return last / first if len(values) >= 2 * window and first > 0 else None


def _beyond(kind: Kind, value: float, limit: float) -> bool:
    if kind == "changed":
        return value > limit or value < 1 / limit
    return value > limit if kind == "above" else value < limit


def _entropy(step: Figures) -> float | None:
    return number(step, "tokens", "both", "entropy")


def _diversity(step: Figures) -> float | None:
    return number(step, "rollouts", "injector", "diversity")


def _invalid(step: Figures) -> float | None:
    return _share(counts(step, "rollouts", "injector", "outcomes"), lambda name: name == "invalid")


def _uniform(step: Figures) -> float | None:
    """Groups by `solved/attempts`."""
    groups = counts(step, "rollouts", "solver", "groups")
    return _share(groups, lambda name: name.startswith("0/") or len(set(name.split("/"))) == 1)


def _gibberish(step: Figures) -> float | None:
    episodes = _sum(step, "episodes")
    taken = sum(counts(step, "rollouts", role, "without_a_gradient").get("gibberish", 0) for role in _roles(step))
    return taken / episodes if episodes else None


def _length(step: Figures) -> float | None:
    episodes = _sum(step, "episodes")
    return _sum(step, "tokens") / episodes if episodes else None


def _roles(step: Figures) -> Sequence[str]:
    return tuple(part(step, "rollouts"))


def _sum(step: Figures, name: str) -> float:
    return sum(number(step, "rollouts", role, name) or 0.0 for role in _roles(step))


def _share(found: Mapping[str, int], mine: Callable[[str], bool]) -> float | None:
    total = sum(found.values())
    return sum(each for name, each in found.items() if mine(name)) / total if total else None


MONITORS: Mapping[str, tuple[str, Kind, Callable[[Figures], float | None], str]] = {
    "entropy": (
        "the policy's entropy fell to {value:.0%} of its first steps' (limit {limit:.0%})", "fallen", _entropy,
        "Lower recipe.lr, raise recipe.clip_high, or go back to an earlier checkpoint.",
    ),
    "diversity": (
        "only {value:.0%} of the bugs are unlike the others of their step (limit {limit:.0%})", "below", _diversity,
        "Use injector.strategy=mix, more injector.groups with fewer members, or a larger repository.",
    ),
    "invalid": (
        "{value:.0%} of the injections are not valid (limit {limit:.0%})", "above", _invalid,
        "Begin with a cold start (`selfplay sft`), or lower injector.min_files and injector.min_failing.",
    ),
    "uniform": (
        "all or none of the attempts solve the bug in {value:.0%} of the groups (limit {limit:.0%})", "above", _uniform,
        "Raise solver.attempts, or let the run begin with easier, or harder, bugs.",
    ),
    "gibberish": (
        "{value:.0%} of the episodes were gibberish (limit {limit:.0%})", "above", _gibberish,
        "Lower recipe.lr, or use a correction (recipe.correction=token), and go back to an earlier checkpoint.",
    ),
    "length": (
        "episodes have {value:.2f} times the tokens of the first steps' (limit {limit:g} times)", "changed", _length,
        "Read some episodes (`selfplay show`): loops, or episodes that give up at once; play.calls bounds them.",
    ),
}  # fmt: skip
"""Name -> (its message, the kind of comparison, its figure of a step, what to do)."""
