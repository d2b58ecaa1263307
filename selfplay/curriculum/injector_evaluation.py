"""How good the injector of a run is against a frozen solver: its episodes' results, their mean reward, and the
diversity of its bugs.

Frozen: the solver's attempts are those stored under one name, numbered below the requested number. Rewards are those of
training (`docs/credit.md`), before they are compared within a group. Intervals resample groups (the episodes of one
prompt), so every mean is over groups' means. Diversity has no interval, since a resample repeats bugs. Two runs are
compared at their common prompts, which the same source, strategy and seed give.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from selfplay.curriculum.crediting import episodes_of
from selfplay.curriculum.open_pool import read_pool
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.summary import diversity
from selfplay.rl.credit.estimates import Estimate, difference, estimate
from selfplay.rl.credit.rules import CreditRules, credit

Groups = Mapping[str, float]
"""Prompt -> the mean over its episodes."""


@dataclass(frozen=True)
class End:
    """How some episodes ended: with a status, or at the check that refused what they submitted. `share`: of all."""

    episodes: int
    share: Estimate


@dataclass(frozen=True)
class ComparedInjector:
    """Another run's injector at the same prompts (`groups` is their number). Differences are ours minus theirs;
    `reward` is None if no prompt has a reward in both."""

    run: str
    groups: int
    valid: Estimate
    reward: Estimate | None
    diversity: Mapping[str, Any]


@dataclass(frozen=True)
class InjectorEvaluation:
    """`groups`: number of prompts. `lost`: episodes that the machine lost, which count nowhere. `ends`: `valid` passed
    every check. `reward`: the mean over episodes with a reward; `unrewarded`: reason -> how many have none."""

    solver: str
    attempts: int
    groups: int
    episodes: int
    lost: int
    ends: Mapping[str, End]
    valid: Estimate
    reward: Estimate | None
    unrewarded: Mapping[str, int]
    diversity: Mapping[str, Any]
    against: ComparedInjector | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Injections:
    """The injections of one run that were not lost. `ended`: (group, how) of each; `rewards`: (group, reward) of those
    that have one."""

    lost: int
    ended: list[tuple[str, str]]
    rewards: list[tuple[str, float]]
    unrewarded: Mapping[str, int]
    diversity: Mapping[str, Any]

    def share(self, end: str) -> Groups:
        """The share that ended so, by group."""
        return _means((group, float(how == end)) for group, how in self.ended)


def evaluate_injector(run: Path, solver: str, attempts: int, against: Path | None = None) -> InjectorEvaluation:
    """Evaluate the injector of a run against the stored attempts of `solver`, those numbered below `attempts`; compare
    it with the injector of the run `against`, whose bugs the same solver attempted.

    Raises `CurriculumError` if there is no run, no episode, no attempt of the solver, or no common prompt."""
    found = _injections(run, solver, attempts)
    rewards = _means(found.rewards)
    return InjectorEvaluation(
        solver,
        attempts,
        len(found.share("valid")),
        len(found.ended),
        found.lost,
        {
            end: End(episodes, estimate(list(found.share(end).values())))
            for end, episodes in Counter(how for _, how in found.ended).most_common()
        },
        estimate(list(found.share("valid").values())),
        estimate(list(rewards.values())) if rewards else None,
        found.unrewarded,
        found.diversity,
        _compared(found, _injections(against, solver, attempts), str(against)) if against else None,
    )


def _injections(run: Path, solver: str, attempts: int) -> _Injections:
    """Reads the injections. Raises `CurriculumError` if there are none, or the solver attempted no bug."""
    stored = episodes_of(run, solver, "count", attempts)
    credits = credit([one.episode for one in stored], CreditRules(attempts))
    every = [both for both in zip(stored, credits, strict=True) if both[0].episode.role == "injector"]
    kept = [(one, earned) for one, earned in every if not one.episode.lost]
    if not kept:
        raise CurriculumError(f"{run} has no injector episode to evaluate", "Run `selfplay curriculum` first.")
    if len(every) == len(stored) and any(one.episode.outcome == "valid" for one, _ in kept):
        raise CurriculumError(f"{run} has no attempt of {solver}", "Run `selfplay solve` first.")
    with read_pool(run) as pool:
        spread = diversity(pool)
    return _Injections(
        len(every) - len(kept),
        [(one.episode.group, one.check or one.status) for one, _ in kept],
        [(one.episode.group, earned.reward) for one, earned in kept if earned.reward is not None],
        dict(Counter(str(earned.reason) for _, earned in kept if earned.reward is None).most_common()),
        spread,
    )


def _means(values: Iterable[tuple[str, float]]) -> Groups:
    """The mean by group, in the order of their names."""
    found: dict[str, list[float]] = defaultdict(list)
    for group, value in values:
        found[group].append(value)
    return {group: fmean(found[group]) for group in sorted(found)}


def _compared(ours: _Injections, theirs: _Injections, run: str) -> ComparedInjector:
    """Raises `CurriculumError` when no prompt is in both runs."""
    valid = _paired(ours.share("valid"), theirs.share("valid"))
    if valid is None:
        raise CurriculumError(
            f"{run} and this run have no prompt in common: nothing to compare",
            "Make both with the same source, --strategy and --seed.",
        )
    groups = len(ours.share("valid").keys() & theirs.share("valid").keys())
    rewards = _paired(_means(ours.rewards), _means(theirs.rewards))
    return ComparedInjector(run, groups, valid, rewards, theirs.diversity)


def _paired(ours: Groups, theirs: Groups) -> Estimate | None:
    both = [group for group in ours if group in theirs]
    return difference([ours[group] for group in both], [theirs[group] for group in both]) if both else None
