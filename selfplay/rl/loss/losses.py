"""One loss per token, 0 outside the mask, to be minimised. `normalise` turns them into one number; before that they may
be multiplied by the weights of `corrections`.

`ratio`: from `ratios`, with its gradient. `advantages`: one per token, without gradient.
"""

import torch
from torch import Tensor

from selfplay.rl.loss.masking import inside


def ppo(
    ratio: Tensor, advantages: Tensor, mask: Tensor, low: float = 0.2, high: float = 0.25, dual: float | None = None
) -> Tensor:
    """-min(r A, clip(r, 1 - low, 1 + high) A) (PPO, arXiv 1707.06347). With a `sequence_ratio` it is GSPO's loss, to be
    normalised by sequence.

    `high` above `low` is clip-higher (DAPO, arXiv 2503.14476): an unlikely token may grow by more than it may shrink.
    The defaults are CWM's. `dual` bounds the loss of a negative advantage from above by -dual A, where PPO does not
    bound it at all (dual clip, arXiv 1912.09729; 3 there). Raises `ValueError` for a `dual` of at most 1.
    """
    _refuse_bounds(low, high)
    kept = inside(advantages.detach(), mask)
    gain = torch.minimum(ratio * kept, ratio.clamp(1 - low, 1 + high) * kept)
    if dual is not None:
        if dual <= 1:
            raise ValueError(f"dual clip takes a bound above 1, not {dual}")
        gain = torch.where(kept < 0, torch.maximum(gain, dual * kept), gain)
    return inside(-gain, mask)


def cispo(
    ratio: Tensor, logprobs: Tensor, advantages: Tensor, mask: Tensor, low: float = 1.0, high: float = 0.2
) -> Tensor:
    """-sg(clip(r, 1 - low, 1 + high)) A log p: the *weight* is clipped and every token keeps its gradient (CISPO,
    MiniMax-M1, arXiv 2506.13585, equations 4 and 5). `low` 1: no lower bound, as there. `logprobs`: log p of the policy
    in training. TRL's `epsilon_high` is our 1 + high."""
    _refuse_bounds(low, high)
    weight = ratio.detach().clamp(1 - low, 1 + high)
    return inside(-weight * inside(advantages.detach(), mask) * inside(logprobs, mask), mask)


def cross_entropy(logprobs: Tensor, mask: Tensor) -> Tensor:
    """-log p of the target tokens, in nats: supervised fine-tuning."""
    return -inside(logprobs, mask)


def _refuse_bounds(low: float, high: float) -> None:
    if not 0 <= low <= 1 or high < 0:
        raise ValueError(f"clip bounds 0 <= low <= 1 and high >= 0, not {low} and {high}")
