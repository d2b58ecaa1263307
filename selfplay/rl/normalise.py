"""Losses of tokens -> one number to call `backward` on. The denominator belongs to the *whole* batch, over all of its
micro-batches and ranks, so the pieces of a batch add up to its loss however it was cut. A mean taken in each
micro-batch does not: tokens in small ones weigh more.

A rank's gradients are to be *summed* over ranks; where a framework takes their mean, multiply the loss by the number of
ranks. Only tokens that are trained on belong in a denominator, never those that a filter took. All raise `ValueError`
for a denominator that is not above 0.
"""

import torch
from torch import Tensor

from selfplay.rl.masking import inside, lengths, per_sequence

CWM_CONSTANT = 131_072
"""CWM's context, by which it divides."""


def by_constant(losses: Tensor, mask: Tensor, constant: float = CWM_CONSTANT) -> Tensor:
    """sum / constant: a token's gradient depends on nothing else in its batch (CWM, Dr. GRPO); the step grows with the
    batch."""
    return _sum_over(inside(losses, mask).sum(), constant)


def by_tokens(losses: Tensor, mask: Tensor, tokens: float) -> Tensor:
    """sum / `tokens` trained in the whole batch: the mean over tokens (DAPO, arXiv 2503.14476). Long episodes weigh
    more."""
    return _sum_over(inside(losses, mask).sum(), tokens)


def by_sequences(losses: Tensor, mask: Tensor, sequence: Tensor, sequences: float) -> Tensor:
    """The mean over `sequences` of the mean over each one's tokens (GRPO, arXiv 2402.03300; GSPO). Long episodes weigh
    as short ones do, hence their tokens less. A sequence must not be cut over micro-batches; `sequences`: how many of
    the whole batch have a token inside the mask (`count_sequences`)."""
    total = per_sequence(losses, mask, sequence)
    return _sum_over((total / lengths(mask, sequence).to(total.dtype).clamp(min=1)).sum(), sequences)


def count_sequences(mask: Tensor, sequence: Tensor) -> int:
    """How many sequences have a token inside the mask."""
    return int(torch.count_nonzero(lengths(mask, sequence)))


def _sum_over(total: Tensor, denominator: float) -> Tensor:
    if not denominator > 0:
        raise ValueError(f"a denominator above 0, not {denominator}")
    return total / denominator
