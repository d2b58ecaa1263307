"""Credited episodes as sequences for the trainer: the ids of their tapes, never rendered again.

A segment of a tape is one sequence. Its mask is 1 where the policy sampled, and nowhere else; every token of an episode
has the episode's advantage. Malformed answers: see `Recipe.malformed`.
"""

from array import array
from collections.abc import Sequence

from selfplay.agent.taped import TapedAnswer
from selfplay.train.packing import Example, fitting
from selfplay.update.batch.crediting import Credited
from selfplay.update.recipe import Recipe

ADVANTAGES, SAMPLED, INJECTOR = "advantages", "sampled", "injector"
"""The names of an example's numbers: advantages, the engine's log-probabilities, 1 for the injector and 0 for the
solver's."""
ROLES = ("injector", "solver")


def examples(rollouts: Sequence[Credited], recipe: Recipe) -> list[Example]:
    """The sequences of the episodes that give a gradient. Raises `TrainError` for one that is longer than the budget,
    unless the recipe cuts it or leaves it out."""
    found = [one for rollout in rollouts if rollout.teaches for one in _examples(rollout, recipe)]
    return fitting(found, recipe.budget, recipe.too_long)


def _examples(rollout: Credited, recipe: Recipe) -> list[Example]:
    played, advantage = rollout.played, rollout.credit.advantage
    masks = [[0] * len(segment.ids) for segment in played.segments]
    for one in played.answers:
        if _trained(one, advantage, recipe):
            masks[one.segment][one.start : one.end] = [1] * one.tokens
    role = float(played.episode.role == "injector")
    return [
        Example(
            f"{played.episode.name} #{number}",
            segment.ids,
            mask,
            {
                ADVANTAGES: array("d", [advantage]) * len(mask),
                SAMPLED: segment.logprobs,
                INJECTOR: array("d", [role]) * len(mask),
            },
        )
        for number, (segment, mask) in enumerate(zip(played.segments, masks, strict=True))
    ]


def _trained(answer: TapedAnswer, advantage: float, recipe: Recipe) -> bool:
    if not answer.malformed or recipe.malformed == "train":
        return True
    return recipe.malformed == "punish" and advantage < 0
