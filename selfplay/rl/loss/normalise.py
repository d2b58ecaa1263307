"""Losses of tokens -> one number to call `backward` on: what each part of a batch adds, divided by a number of the
*whole* batch, over all micro-batches and ranks. So the parts add up to the batch's loss however it was split. With a
mean per micro-batch, tokens in small ones would weigh more.

Gradients must be *summed* over ranks; if a framework averages them, multiply the loss by the number of ranks. Only
tokens that are trained on count in a divisor, not those of filtered rollouts.
"""

from collections.abc import Sequence

from torch import Tensor

from selfplay.rl.loss.masking import inside, lengths, per_sequence


def token_sum(losses: Tensor, mask: Tensor) -> Tensor:
    """What a part adds if the divisor is `by_constant` or `by_tokens`: the sum over its tokens."""
    return inside(losses, mask).sum()


def sequence_means(losses: Tensor, mask: Tensor, sequence: Tensor) -> Tensor:
    """What a part adds if the divisor is `by_sequences`: the sum, over its sequences, of the mean over each one's
    tokens. A sequence must not be split over parts."""
    total = per_sequence(losses, mask, sequence)
    return (total / lengths(mask, sequence).to(total.dtype).clamp(min=1)).sum()


def by_constant(constant: float) -> float:
    """A constant: a token's gradient does not depend on the rest of its batch (CWM, whose constant is its context
    length, 131,072; Dr. GRPO); the step grows with the batch. Raises `ValueError` unless it is above 0."""
    if not constant > 0:
        raise ValueError(f"a divisor above 0, not {constant}")
    return constant


def by_tokens(trained: Sequence[int]) -> float:
    """The tokens of the whole batch that are trained on, from how many each sequence has: the loss is their mean (DAPO,
    arXiv 2503.14476). Long episodes weigh more. Raises `ValueError` if there is none."""
    return by_constant(float(sum(trained)))


def by_sequences(trained: Sequence[int]) -> float:
    """The sequences of the whole batch that have a token trained on: the loss is the mean over sequences of their means
    (GRPO, arXiv 2402.03300; GSPO). Long and short episodes weigh the same, so tokens of long ones weigh less. Raises
    `ValueError` if there is none."""
    return by_constant(float(sum(tokens > 0 for tokens in trained)))
