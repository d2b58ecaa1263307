"""The rules of credit: finished episodes of both roles -> a reward and an advantage each, or the reason why an episode
gives no gradient. Where the paper is silent, this module decides; `table.rules_of_credit` has each rule in words, and
`docs/credit.md` shows them.

The caller passes a batch of episodes whose solver groups are finished: an injector's reward depends on the attempts at
its bug.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from selfplay.rl.credit import rewards
from selfplay.rl.credit.advantages import Estimator, length_weighted
from selfplay.rl.credit.filters import Sampled, zero_advantage

RoleName = Literal["injector", "solver"]
Outcome = Literal["valid", "invalid", "duplicate", "resolved", "failed", "cheated"]
OUTCOMES: dict[RoleName, frozenset[str]] = {
    "injector": frozenset({"valid", "invalid", "duplicate"}),
    "solver": frozenset({"resolved", "failed", "cheated"}),
}


class Reason(StrEnum):
    """Why an episode gives no gradient."""

    LOST = "lost"
    NEVER_ATTEMPTED = "never attempted"
    TOO_FEW_ATTEMPTS = "too few attempts"
    NO_TOKENS = "no tokens"
    DAMAGED_TAPE = "damaged tape"
    OPPONENT = "opponent"
    ALONE = "alone"
    ZERO_ADVANTAGE = "zero advantage"


@dataclass(frozen=True)
class CreditedEpisode:
    """One episode, as credit sees it. `group`: the episodes it is compared with. `outcome`: one of its role's
    `OUTCOMES`, ignored if `lost`: the machine lost it, so it says nothing about the policy.

    `bug`: the bug that a valid injection made, or that was attempted. `order`: the bug's order; 2 if it contains a
    failed patch. `tokens`: how many sampled tokens can be trained on. `damaged`: its tape cannot be read. `prompt`:
    identifies the prompt, for instance a hash; empty if unknown. `opponent`: a frozen policy played it.
    """

    role: RoleName
    group: str
    outcome: Outcome = "failed"
    bug: str = ""
    order: int = 1
    tokens: int = 1
    lost: bool = False
    damaged: bool = False
    opponent: bool = False
    prompt: str = ""
    name: str = ""


@dataclass(frozen=True)
class CreditRules:
    """The choices of a recipe. `attempts`: planned for each bug; 0: as many as are passed.

    `valid`: the reward of a valid bug from (solved, attempts); `needs_attempts` False: it ignores both, as in the
    consistency-only ablation. `length_penalty`: added to every reward, from the sampled tokens. `shuffled`: rewards are
    shuffled within each group, as a control experiment: nothing can be learned from them.
    """

    attempts: int = 0
    valid: rewards.ValidBugReward = rewards.ssr
    needs_attempts: bool = True
    invalid: float = rewards.INVALID
    duplicate: float = rewards.DUPLICATE
    resolved: float = rewards.RESOLVED
    failed: float = rewards.FAILED
    cheated: float = rewards.CHEATED
    length_penalty: Callable[[int], float] | None = None
    shuffled: bool = False
    injector_advantages: Estimator = length_weighted
    solver_advantages: Estimator = length_weighted


@dataclass(frozen=True)
class Credit:
    """What an episode earned. `reward` is None if it has none; `advantage` is 0 if there is a `reason`, else the same
    for all its tokens. `solved` of `attempts`: the counted attempts at its bug, which give s. `taken_by`: the filter
    that dropped it (`filters`); it keeps its advantage."""

    episode: CreditedEpisode
    reward: float | None
    advantage: float = 0.0
    reason: Reason | None = None
    solved: int = 0
    attempts: int = 0
    taken_by: str = ""

    @property
    def no_gradient(self) -> str:
        """Why it gives no gradient; empty if it gives one."""
        return str(self.reason or "") or self.taken_by


@dataclass(frozen=True)
class _Tally:
    """The numbers of attempts at one bug: resolved, counted, planned."""

    solved: int
    counted: int
    planned: int

    @property
    def too_few(self) -> bool:
        return 2 * self.counted < self.planned


def credit(episodes: Sequence[CreditedEpisode], rules: CreditRules = CreditRules()) -> list[Credit]:
    """The credit of each episode, in their order.

    Raises `ValueError` for an outcome of the other role, a valid injection or an attempt without a bug, a solver group
    with two bugs, and an injector group with two prompts.
    """
    for episode in episodes:
        _check(episode)
    _check_groups(episodes)
    tallies = _tallies(episodes, rules.attempts)
    found = [_rewarded(episode, tallies, rules) for episode in episodes]
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, earned in enumerate(found):
        if earned.reason is None:
            groups[earned.episode.role, earned.episode.group].append(place)
    for (role, _), places in groups.items():
        estimator = rules.injector_advantages if role == "injector" else rules.solver_advantages
        members = [found[place] for place in places]
        if rules.shuffled:
            members = _shuffled(members)
        for place, earned in zip(places, _compared(members, estimator), strict=True):
            found[place] = earned
    return found


def untrained(credits: Iterable[Credit]) -> dict[str, int]:
    """How many episodes give no gradient, by reason or filter."""
    return dict(Counter(earned.no_gradient for earned in credits if earned.no_gradient))


def _tallies(episodes: Sequence[CreditedEpisode], planned: int) -> dict[tuple[str, int], _Tally]:
    """(bug, order) -> its attempts. A cheat counts as a failure; a lost attempt does not count."""
    attempts: dict[tuple[str, int], list[CreditedEpisode]] = defaultdict(list)
    for episode in episodes:
        if episode.role == "solver":
            attempts[episode.bug, episode.order].append(episode)
    tallies = {}
    for key, members in attempts.items():
        counted = [episode for episode in members if not episode.lost]
        solved = sum(episode.outcome == "resolved" for episode in counted)
        tallies[key] = _Tally(solved, len(counted), max(planned, len(members)))
    return tallies


def _rewarded(episode: CreditedEpisode, tallies: dict[tuple[str, int], _Tally], rules: CreditRules) -> Credit:
    """Its reward, or why it has none. An injector's depends on the attempts of order 1, at the bug itself."""
    tally = tallies.get((episode.bug, episode.order), _Tally(0, 0, 0))
    earned = Credit(episode, None, solved=tally.solved, attempts=tally.counted)
    if episode.lost:
        return replace(earned, reason=Reason.LOST)
    if episode.role == "solver" or (episode.outcome == "valid" and rules.needs_attempts):
        if tally.planned == 0:
            return replace(earned, reason=Reason.NEVER_ATTEMPTED)
        if tally.too_few:
            return replace(earned, reason=Reason.TOO_FEW_ATTEMPTS)
    return replace(earned, reward=_reward(episode, tally, rules), reason=_untrained(episode))


def _reward(episode: CreditedEpisode, tally: _Tally, rules: CreditRules) -> float:
    outcome = episode.outcome
    if episode.role == "solver":
        numbers = rules.resolved, rules.failed, rules.cheated
        reward = rewards.solver_reward(outcome == "resolved", outcome == "cheated", *numbers)
    else:
        otherwise = rules.duplicate if outcome == "duplicate" else rules.invalid
        reward = rewards.injector_reward(outcome == "valid", tally.solved, tally.counted, rules.valid, otherwise)
    return reward + (rules.length_penalty(episode.tokens) if rules.length_penalty is not None else 0.0)


def _untrained(episode: CreditedEpisode) -> Reason | None:
    """Why an episode with a reward gives no gradient; None if it gives one."""
    if episode.opponent:
        return Reason.OPPONENT
    if episode.damaged:
        return Reason.DAMAGED_TAPE
    return None if episode.tokens else Reason.NO_TOKENS


def _shuffled(members: Sequence[Credit]) -> list[Credit]:
    """The members with shuffled rewards; their names seed the shuffle, so a resumed run repeats it."""
    earned = [member.reward for member in members]
    random.Random("\n".join(member.episode.name for member in members)).shuffle(earned)
    return [replace(member, reward=reward) for member, reward in zip(members, earned, strict=True)]


def _compared(members: Sequence[Credit], estimator: Estimator) -> list[Credit]:
    """The members of one group with their advantages."""
    if len(members) == 1:
        return [replace(members[0], reason=Reason.ALONE)]
    earned = [member.reward for member in members if member.reward is not None]
    advantages = estimator(earned, [member.episode.tokens for member in members])
    return [
        replace(member, reason=Reason.ZERO_ADVANTAGE)
        if zero_advantage(Sampled(advantage))
        else replace(member, advantage=advantage)
        for member, advantage in zip(members, advantages, strict=True)
    ]


def _check(episode: CreditedEpisode) -> None:
    said = f"{episode.role} episode {episode.name or episode.group}"
    if not episode.lost and episode.outcome not in OUTCOMES[episode.role]:
        raise ValueError(f"{said} cannot be {episode.outcome}")
    if not episode.bug and (episode.role == "solver" or (episode.outcome == "valid" and not episode.lost)):
        raise ValueError(f"{said} names no bug")
    ordered = episode.order == 1 if episode.role == "injector" else episode.order >= 1
    if episode.tokens < 0 or not ordered:
        raise ValueError(f"{said} has {episode.tokens} tokens and order {episode.order}")


def _check_groups(episodes: Sequence[CreditedEpisode]) -> None:
    """Raises `ValueError` unless a group's members share their bug or prompt."""
    asked: dict[tuple[str, str, str], object] = {}
    for episode in episodes:
        questions: dict[str, object] = {"prompts": episode.prompt} if episode.prompt else {}
        if episode.role == "solver":
            questions["bugs"] = episode.bug, episode.order
        for what, question in questions.items():
            if asked.setdefault((episode.role, episode.group, what), question) != question:
                raise ValueError(f"the {episode.role} group {episode.group} has two {what}")
