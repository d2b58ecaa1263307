"""The losses of `selfplay.rl` through the trainer: what one step does to a tiny model, against the formula by hand."""

from dataclasses import replace

import pytest
import torch
from tiny_models import tiny_llama, uneven
from torch import Tensor

from selfplay.rl.loss import corrections, losses, ratios
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.packing import Example
from selfplay.train.step import StepOptions, Tokens, Trainer

FP32 = ModelOptions(precision="fp32", checkpointing=False)


def rollouts(trainer: Trainer, off: float) -> list[Example]:
    """Examples with one advantage a sequence, whose engine's log-probabilities are the trainer's own less `off`: every
    ratio is e^off."""
    plain = [replace(e, numbers={"advantages": e.numbers["advantages"][:1] * len(e.ids)}) for e in uneven()]
    return [
        Example(e.name, e.ids, e.mask, {**e.numbers, "sampled": [value - off for value in values]})
        for e, values in zip(plain, trainer.logprobs(plain), strict=True)
    ]


def token_loss(tokens: Tokens) -> Tensor:
    ratio = ratios.token_ratio(tokens.logprobs, tokens.numbers["sampled"], tokens.mask)
    return losses.ppo(ratio, tokens.numbers["advantages"], tokens.mask).sum()


def sequence_loss(tokens: Tokens) -> Tensor:
    ratio = ratios.sequence_ratio(tokens.logprobs, tokens.numbers["sampled"], tokens.mask, tokens.sequence)
    return losses.ppo(ratio, tokens.numbers["advantages"], tokens.mask).sum()


def corrected_loss(tokens: Tokens) -> Tensor:
    weight = corrections.truncated_by_token(tokens.logprobs, tokens.numbers["sampled"], tokens.mask)
    ratio = ratios.token_ratio(tokens.logprobs, tokens.logprobs, tokens.mask)
    return (weight * losses.ppo(ratio, tokens.numbers["advantages"], tokens.mask)).sum()


@pytest.mark.parametrize("loss", [token_loss, sequence_loss, corrected_loss])
@pytest.mark.parametrize("budget", [100, 23])
def test_on_policy_every_loss_is_minus_the_sum_of_advantages(loss, budget: int) -> None:
    """All ratios are 1, so -A is left of every formula, however the batch is cut; its gradient is -A grad log p."""
    trainer = Trainer(scorer_of(tiny_llama(), FP32), StepOptions(lr=0.0, budget=budget))
    examples = rollouts(trainer, 0.0)
    kept = [a for e in examples for a, on in zip(e.numbers["advantages"], e.mask, strict=True) if on]
    figures = trainer.step(examples, loss, 10)
    assert figures.loss == pytest.approx(-sum(kept) / 10, abs=1e-5)
    plain = trainer.step(examples, lambda t: -(t.logprobs * t.numbers["advantages"] * t.mask).sum(), 10)
    assert figures.gradient == pytest.approx(plain.gradient, rel=1e-4)


def test_a_ratio_beyond_the_clip_keeps_only_what_pulls_it_back() -> None:
    """e^0.5 = 1.649 is above 1.25: tokens with a positive advantage have no gradient left, the others all of it."""
    trainer = Trainer(scorer_of(tiny_llama(), FP32), StepOptions(lr=0.0))
    examples = rollouts(trainer, 0.5)
    clipped = trainer.step(examples, token_loss, 10).gradient

    def by_hand(tokens: Tokens) -> Tensor:
        negative = tokens.mask & (tokens.numbers["advantages"] < 0)
        return -torch.where(negative, 1.6487213 * tokens.numbers["advantages"] * tokens.logprobs, 0.0).sum()

    assert clipped == pytest.approx(trainer.step(examples, by_hand, 10).gradient, rel=1e-4)
