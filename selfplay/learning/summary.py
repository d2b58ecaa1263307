"""A batch of credited episodes in figures, and the error of one that teaches nothing. Plain numbers."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from selfplay.learning.crediting import Credited
from selfplay.learning.errors import NothingToLearn
from selfplay.learning.examples import ROLES
from selfplay.rl.credit import untrained
from selfplay.words import tally


def refuse_nothing(rollouts: Sequence[Credited]) -> None:
    """Raises `NothingToLearn` where no episode gives a gradient, saying what took how many."""
    if not any(one.teaches for one in rollouts):
        taken = tally(untrained(one.credit for one in rollouts))
        raise NothingToLearn(
            f"no episode teaches anything ({taken or 'there is none'})",
            "A group teaches when its members earned different rewards: play more attempts at each bug, and injector "
            "episodes in groups (curriculum --group). `--dry-run` shows each episode.",
        )


def rollout_figures(rollouts: Sequence[Credited]) -> dict[str, Any]:
    """The episodes by role: how many, their rewards, how many give a gradient, why others do not, versions' ages."""
    return {
        role: _of_role([one for one in rollouts if one.played.episode.role == role])
        for role in ROLES
        if any(one.played.episode.role == role for one in rollouts)
    }


def _of_role(rollouts: Sequence[Credited]) -> dict[str, Any]:
    rewards = [one.credit.reward for one in rollouts if one.credit.reward is not None]
    taught = [one for one in rollouts if one.teaches]
    newest = max(one.played.newest for one in rollouts)
    return {
        "episodes": len(rollouts),
        "trained_on": len(taught),
        "without_a_gradient": untrained(one.credit for one in rollouts),
        "outcomes": dict(Counter(str(one.played.episode.outcome) for one in rollouts if not one.played.episode.lost)),
        "reward": {"mean": fmean(rewards), "min": min(rewards), "max": max(rewards)} if rewards else None,
        "tokens": sum(one.played.episode.tokens for one in rollouts),
        "tokens_trained_on": sum(one.played.episode.tokens for one in taught),
        "versions_behind": dict(Counter(str(newest - one.played.oldest) for one in taught)),
    }
