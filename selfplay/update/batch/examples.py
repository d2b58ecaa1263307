"""Credited episodes as sequences for the trainer: the ids of their tapes, never rendered again.

A segment of a tape is one sequence. Its mask is 1 where the policy sampled, and nowhere else; every token of an episode
has the episode's advantage. Malformed answers: see `Recipe.malformed`.
"""

from array import array
from collections.abc import Sequence
from dataclasses import replace

from selfplay.agent.taped_answers import TapedAnswer
from selfplay.rl.credit.role_shares import role_weights
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
    kept = fitting(found, recipe.budget, recipe.too_long)
    return kept if recipe.injector_share is None else _shared_out(kept, recipe.injector_share, recipe)


def _shared_out(batch: Sequence[Example], share: float, recipe: Recipe) -> list[Example]:
    """The sequences with advantages scaled so that the injector's have that share of the update. Every loss is linear
    in the advantage for a positive factor, so this weighs the loss."""
    weights = role_weights(_mass(batch, 1.0, recipe), _mass(batch, 0.0, recipe), share)
    return [_scaled(one, weights[0 if one.numbers[INJECTOR][0] else 1]) for one in batch]


def _mass(batch: Sequence[Example], role: float, recipe: Recipe) -> int:
    """What a role has in the sum that the recipe normalises: tokens that are trained on, or sequences with some."""
    trained = [one.trained for one in batch if one.numbers[INJECTOR][0] == role]
    return sum(map(bool, trained)) if recipe.normalisation == "sequences" else sum(trained)


def _scaled(one: Example, factor: float) -> Example:
    advantages = array("d", (factor * value for value in one.numbers[ADVANTAGES]))
    return replace(one, numbers={**one.numbers, ADVANTAGES: advantages})


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
