"""Losses of tokens -> one number to call `backward` on. The denominator is that of the *whole* batch, over all
micro-batches and ranks, so the parts add up to the batch's loss however it was split. With a mean per micro-batch,
tokens in small ones would weigh more.

Gradients must be *summed* over ranks; if a framework averages them, multiply the loss by the number of ranks. Only
tokens that are trained on count in a denominator, not those of filtered rollouts. All raise `ValueError` for a
denominator that is not above 0.
"""

import torch
from torch import Tensor

from selfplay.rl.loss.masking import inside, lengths, per_sequence

CWM_CONSTANT = 131_072
"""CWM's divisor: its context length."""


def by_constant(losses: Tensor, mask: Tensor, constant: float = CWM_CONSTANT) -> Tensor:
    """sum / constant: a token's gradient does not depend on the rest of its batch (CWM, Dr. GRPO); the step grows with
    the batch."""
    return _sum_over(inside(losses, mask).sum(), constant)


def by_tokens(losses: Tensor, mask: Tensor, tokens: float) -> Tensor:
    """sum / `tokens` trained in the whole batch: the mean over tokens (DAPO, arXiv 2503.14476). Long episodes weigh
    more."""
    return _sum_over(inside(losses, mask).sum(), tokens)


def by_sequences(losses: Tensor, mask: Tensor, sequence: Tensor, sequences: float) -> Tensor:
    """The mean over `sequences` of the mean over each one's tokens (GRPO, arXiv 2402.03300; GSPO). Long and short
    episodes weigh the same, so tokens of long ones weigh less. A sequence must not be split over micro-batches;
    `sequences`: how many of the whole batch have a token inside the mask (`count_sequences`)."""
    total = per_sequence(losses, mask, sequence)
    return _sum_over((total / lengths(mask, sequence).to(total.dtype).clamp(min=1)).sum(), sequences)


def count_sequences(mask: Tensor, sequence: Tensor) -> int:
    """How many sequences have a token inside the mask."""
    return int(torch.count_nonzero(lengths(mask, sequence)))


def _sum_over(total: Tensor, denominator: float) -> Tensor:
    if not denominator > 0:
        raise ValueError(f"a denominator above 0, not {denominator}")
    return total / denominator
