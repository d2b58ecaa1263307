"""What the monitors watch: the table from which their settings, alarms and messages are made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from selfplay.loop.metrics import Figures, counts, number, part
from selfplay.update.recipe import GIBBERISH

Kind = Literal["below", "above", "fallen", "changed", "at once"]


@dataclass(frozen=True)
class Monitor:
    """`limit`: the value from which it warns by default. `kind`: how a value is compared with it. `measure`: its figure
    of a step. `said`: the message of `value` and `limit`; `advice`: what to do. `stop`: whether it stops the run by
    default."""

    limit: float
    kind: Kind
    measure: Callable[[Figures], float | None]
    said: str
    advice: str
    stop: bool = False


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
    taken = sum(counts(step, "rollouts", role, "without_a_gradient").get(GIBBERISH, 0) for role in _roles(step))
    return taken / episodes if episodes else None


def _length(step: Figures) -> float | None:
    episodes = _sum(step, "episodes")
    return _sum(step, "tokens") / episodes if episodes else None


def _parity(step: Figures) -> float | None:
    """Only of a step whose tokens were all sampled by the weights that the update began with."""
    behind = {age for role in _roles(step) for age in counts(step, "rollouts", role, "versions_behind")}
    return number(step, "tokens", "both", "absolute_difference") if behind == {"0"} else None


def _roles(step: Figures) -> Sequence[str]:
    return tuple(part(step, "rollouts"))


def _sum(step: Figures, name: str) -> float:
    return sum(number(step, "rollouts", role, name) or 0.0 for role in _roles(step))


def _share(found: Mapping[str, int], mine: Callable[[str], bool]) -> float | None:
    total = sum(found.values())
    return sum(each for name, each in found.items() if mine(name)) / total if total else None


MONITORS: Mapping[str, Monitor] = {
    "entropy": Monitor(
        0.2,
        "fallen",
        _entropy,
        "the policy's entropy fell to {value:.0%} of its first steps' (limit {limit:.0%})",
        "Lower recipe.lr, raise recipe.clip_high, or go back to an earlier checkpoint.",
    ),
    "diversity": Monitor(
        0.3,
        "below",
        _diversity,
        "only {value:.0%} of the bugs are unlike the others of their step (limit {limit:.0%})",
        "Use injector.strategy=mix, more injector.groups with fewer members, or a larger repository.",
    ),
    "invalid": Monitor(
        0.98,
        "above",
        _invalid,
        "{value:.0%} of the injections are not valid (limit {limit:.0%})",
        "Begin with a cold start (`selfplay sft`), or lower injector.min_files and injector.min_failing.",
    ),
    "uniform": Monitor(
        0.95,
        "above",
        _uniform,
        "all or none of the attempts solve the bug in {value:.0%} of the groups (limit {limit:.0%})",
        "Raise solver.attempts, or let the run begin with easier, or harder, bugs.",
    ),
    "gibberish": Monitor(
        0.05,
        "above",
        _gibberish,
        "{value:.0%} of the episodes were gibberish (limit {limit:.0%})",
        "Lower recipe.lr, or use a correction (recipe.correction=token), and go back to an earlier checkpoint.",
    ),
    "length": Monitor(
        3.0,
        "changed",
        _length,
        "episodes have {value:.2f} times the tokens of the first steps' (limit {limit:g} times)",
        "Read some episodes (`selfplay show`): loops, or episodes that give up at once; play.calls bounds them.",
    ),
    "parity": Monitor(
        0.2,
        "at once",
        _parity,
        "engine and trainer do not have the same policy: their log-probabilities of the same tokens are {value:.2g} "
        "apart on average (limit {limit:g})",
        "The engine has other weights, another tokenizer or another precision: see play.dtype and recipe.precision.",
        stop=True,
    ),
}
