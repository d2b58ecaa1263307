"""The trainer's probabilities against the engine's. Both hold the same weights and disagree by rounding, so that a
batch is never quite on-policy. A correction weighs each token by trained / sampled, within bounds.

`trained`: the trainer's log-probabilities of the sampled tokens; `sampled`: the engine's. Weights are 0 outside the
mask, carry no gradient, and multiply the losses of tokens.
"""

import torch
from torch import Tensor

from selfplay.rl.loss.masking import inside, per_sequence
from selfplay.rl.loss.ratios import bounded_exp, log_ratio


def truncated_by_token(trained: Tensor, sampled: Tensor, mask: Tensor, cap: float = 2.0) -> Tensor:
    """min(trained / sampled, cap) by token: truncated importance sampling (Yao et al. 2025, "Your efficient RL
    framework secretly brings you off-policy RL training"). The cap bounds the variance and adds a bias.

    Raises `ValueError` for a cap that is not above 0."""
    return inside(_capped(bounded_exp(log_ratio(trained.detach(), sampled, mask)), cap), mask)


def truncated_by_sequence(trained: Tensor, sampled: Tensor, mask: Tensor, sequence: Tensor, cap: float = 2.0) -> Tensor:
    """min(product of the token ratios, cap) of the token's whole sequence: unbiased apart from the cap, but for long
    sequences nearly always 0 or the cap."""
    total = per_sequence(log_ratio(trained.detach(), sampled, mask), mask, sequence)
    return inside(_capped(bounded_exp(total), cap)[sequence], mask)


def icepop(trained: Tensor, sampled: Tensor, mask: Tensor, low: float = 0.5, high: float = 5.0) -> Tensor:
    """trained / sampled where it lies in [low, high], else 0: tokens with too large a disagreement are not trained on
    (IcePop, arXiv 2510.18855). Raises `ValueError` unless 0 < low <= high."""
    if not 0 < low <= high:
        raise ValueError(f"bounds 0 < low <= high, not {low} and {high}")
    ratio = bounded_exp(log_ratio(trained.detach(), sampled, mask))
    return inside(torch.where((ratio >= low) & (ratio <= high), ratio, torch.zeros_like(ratio)), mask)


def effective_sample_size(total: float, squares: float, tokens: float) -> float:
    """(sum w)^2 / (n sum w^2) of n tokens' weights (Kish), from their sum and the sum of their squares, which parts of
    a batch add up to: the share of the batch that is effective. 1 for equal weights, 1 / n if one token has all the
    weight, 0 without any weight."""
    return total**2 / (tokens * squares) if squares > 0 else 0.0


def _capped(ratio: Tensor, cap: float) -> Tensor:
    if cap <= 0:
        raise ValueError(f"a cap above 0, not {cap}")
    return ratio.clamp(max=cap)
