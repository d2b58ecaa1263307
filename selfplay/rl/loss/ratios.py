"""Importance ratios: the probability of the sampled tokens under the policy in training over that under an older one.

`new` and `old`: log-probabilities of the sampled tokens, any shape; `mask`: the same shape. Ratios are 1 outside the
mask. Log ratios are clamped to +-20, as in verl: e^20 is far beyond any clip, and e^89 is infinite in float32, with a
NaN gradient even if a clip discards it.
"""

from torch import Tensor

from selfplay.rl.loss.masking import inside, lengths, per_sequence

MOST_LOG_RATIO = 20.0


def log_ratio(new: Tensor, old: Tensor, mask: Tensor) -> Tensor:
    """log new - log old by token, 0 outside the mask. `old` gets no gradient. Raises `ValueError` for shapes that
    differ."""
    return inside(new, mask) - inside(old.detach(), mask)


def token_ratio(new: Tensor, old: Tensor, mask: Tensor) -> Tensor:
    """new / old by token: the ratio of PPO (arXiv 1707.06347) and GRPO."""
    return bounded_exp(log_ratio(new, old, mask))


def sequence_ratio(new: Tensor, old: Tensor, mask: Tensor, sequence: Tensor) -> Tensor:
    """(new / old)^(1 / length) of the token's whole sequence, at each of its tokens: the geometric mean of its token
    ratios, the ratio of GSPO (arXiv 2507.18071). Its gradient reaches every token of the sequence."""
    total = per_sequence(log_ratio(new, old, mask), mask, sequence)
    mean = total / lengths(mask, sequence).to(total.dtype).clamp(min=1)
    return bounded_exp(inside(mean[sequence], mask))


def bounded_exp(log_ratios: Tensor) -> Tensor:
    """exp of the log ratio, clamped to +-`MOST_LOG_RATIO`; the gradient beyond is 0."""
    return log_ratios.clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO).exp()
