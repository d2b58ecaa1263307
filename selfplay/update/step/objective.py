"""The loss of a recipe, as the trainer calls it row by row, and its measurements.

r is the trainer's probability of a token over the engine's that sampled it, before the step:
    k1 = -log r, k3 = r - 1 - log r     both estimate KL(engine || trainer) from the engine's samples; k3 is never
                                        negative and varies less (Schulman 2020, "Approximating KL divergence")
    clipped                             the loss's clip removes the token's gradient or bounds its weight
    effective_sample_size               of the tokens, weighted by r: near 0 where few tokens have nearly all the weight
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from selfplay.rl.loss import corrections, losses, normalise, ratios
from selfplay.rl.loss.masking import inside
from selfplay.train.model import sharded
from selfplay.train.step import Tokens
from selfplay.update.batch.examples import ADVANTAGES, INJECTOR, ROLES, SAMPLED
from selfplay.update.batch.figures import TokenFigures, TokenMeans
from selfplay.update.recipe import Recipe

SUMS = 11
"""The figures of a token that are summed: those of `_measure`, in the order in which `_figures` reads them."""


@dataclass(frozen=True)
class ObjectiveRow:
    """A row's loss by token, and the ratio and weight in it."""

    losses: Tensor
    ratio: Tensor
    weight: Tensor


def row_loss(tokens: Tokens, recipe: Recipe) -> ObjectiveRow:
    """The loss of each token, 0 outside the mask. Without a correction the ratio is the trainer's over the engine's;
    with one it is the trainer's over its own before the step, and the correction weighs trainer against engine."""
    sampled, mask = tokens.numbers[SAMPLED], tokens.mask
    old = sampled if recipe.correction == "none" else tokens.logprobs.detach()
    if recipe.loss == "gspo":
        ratio = ratios.sequence_ratio(tokens.logprobs, old, mask, tokens.sequence)
    else:
        ratio = ratios.token_ratio(tokens.logprobs, old, mask)
    (low, high), advantages = recipe.bounds, tokens.numbers[ADVANTAGES]
    if recipe.loss == "cispo":
        found = losses.cispo(ratio, tokens.logprobs, advantages, mask, low, high)
    else:
        found = losses.ppo(ratio, advantages, mask, low, high, recipe.dual)
    weight = _weight(tokens, recipe)
    return ObjectiveRow(found * weight, ratio.detach(), weight)


def _weight(tokens: Tokens, recipe: Recipe) -> Tensor:
    """The correction's weight of each token; 1 without one."""
    logprobs, sampled, mask = tokens.logprobs, tokens.numbers[SAMPLED], tokens.mask
    if recipe.correction == "token":
        return corrections.truncated_by_token(logprobs, sampled, mask, recipe.most)
    if recipe.correction == "sequence":
        return corrections.truncated_by_sequence(logprobs, sampled, mask, tokens.sequence, recipe.most)
    if recipe.correction == "icepop":
        return corrections.icepop(logprobs, sampled, mask, recipe.floor, recipe.most)
    return inside(torch.ones_like(logprobs), mask)


def clipped(row: ObjectiveRow, tokens: Tokens, recipe: Recipe) -> Tensor:
    """Which tokens are clipped: for CISPO those with a bounded weight, else those without gradient, whose ratio is
    already beyond the bound in the direction of the advantage."""
    low, high = recipe.bounds
    above, below = row.ratio > 1 + high, row.ratio < 1 - low
    if recipe.loss == "cispo":
        return tokens.mask & (above | below)
    kept = inside(tokens.numbers[ADVANTAGES], tokens.mask)
    beyond = (above & (kept > 0)) | (below & (kept < 0))
    if recipe.dual is not None:
        beyond |= (row.ratio > recipe.dual) & (kept < 0)
    return beyond


class Objective:
    """The loss of a recipe, as `Trainer.step` takes it; it keeps the figures of the rows it was called with."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._sums = torch.zeros(len(ROLES), SUMS, dtype=torch.float64)
        self._most = torch.full((len(ROLES), 4), -torch.inf, dtype=torch.float64)  # ratio, -ratio, log r, -log r

    def __call__(self, tokens: Tokens) -> Tensor:
        """The sum over the row's tokens; if the recipe normalises by sequence, the sum of its sequences' means."""
        row = row_loss(tokens, self.recipe)
        self._measure(row, tokens)
        if self.recipe.normalisation == "sequences":
            return normalise.sequence_means(row.losses, tokens.mask, tokens.sequence)
        return normalise.token_sum(row.losses, tokens.mask)

    def _measure(self, row: ObjectiveRow, tokens: Tokens) -> None:
        mask = tokens.mask
        difference = ratios.log_ratio(tokens.logprobs.detach(), tokens.numbers[SAMPLED], mask)
        ratio, one = ratios.bounded_exp(difference), torch.ones_like(difference)
        values = (
            ratio, difference, difference.abs(), -difference, ratio - 1 - difference, clipped(row, tokens, self.recipe),
            tokens.entropies.detach(), row.weight, ratio.square(), one, row.losses.detach(),
        )  # fmt: skip
        for place, of_role in enumerate((1.0, 0.0)):
            mine = mask & (tokens.numbers[INJECTOR] == of_role)
            if bool(mine.any()):
                self._sums[place] += torch.stack([value[mine].double().sum() for value in values]).cpu()
                ends = torch.stack(
                    [ratio[mine].max(), -ratio[mine].min(), difference[mine].max(), -difference[mine].min()]
                )
                self._most[place] = torch.maximum(self._most[place], ends.double().cpu())

    def figures(self) -> TokenFigures:
        """By role and for both together; a role without a token is left out."""
        sums, most = _over_ranks(self._sums, self._most)
        rows = {role: (sums[place], most[place]) for place, role in enumerate(ROLES)}
        rows["both"] = sums.sum(0), most.amax(0)
        return {name: _figures(*row) for name, row in rows.items() if row[0][-2] > 0}


def _figures(sums: Tensor, most: Tensor) -> TokenMeans:
    *values, squares, tokens, loss = sums.tolist()
    ratio, difference, absolute, k1, k3, clip, entropy, weight = (value / tokens for value in values)
    highest, lowest, over, under = most.tolist()
    return {
        "tokens": tokens,
        "ratio": ratio,
        "difference": difference,
        "absolute_difference": absolute,
        "k1": k1,
        "k3": k3,
        "clipped": clip,
        "entropy": entropy,
        "weight": weight,
        "ratio_max": highest,
        "ratio_min": -lowest,
        "difference_max": over,
        "difference_min": -under,
        "effective_sample_size": corrections.effective_sample_size(values[0], squares, tokens),
        "loss_sum": loss,
    }


def _over_ranks(sums: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
    if not sharded():
        return sums, most
    everywhere: list[tuple[Tensor, Tensor]] = [(sums, most)] * dist.get_world_size()
    dist.all_gather_object(everywhere, (sums, most))
    return torch.stack([one for one, _ in everywhere]).sum(0), torch.stack([one for _, one in everywhere]).amax(0)


def divisor(recipe: Recipe, trained: Sequence[int]) -> float:
    """The recipe's divisor of the whole batch's loss. `trained`: each sequence's tokens that are trained on."""
    if recipe.normalisation == "sequences":
        return normalise.by_sequences(trained)
    return normalise.by_tokens(trained) if recipe.normalisation == "tokens" else normalise.by_constant(recipe.constant)
