"""Random small batches for the properties, and every loss that a recipe can put together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from selfplay.rl.loss.corrections import icepop, truncated_by_sequence, truncated_by_token
from selfplay.rl.loss.losses import cispo, cross_entropy, ppo
from selfplay.rl.loss.masking import lengths
from selfplay.rl.loss.normalise import by_constant, by_sequences, by_tokens, sequence_means, token_sum
from selfplay.rl.loss.ratios import sequence_ratio, token_ratio


@dataclass(frozen=True)
class Batch:
    """Tensors of one shape. `old` stands for the engine's log-probabilities too."""

    new: Tensor
    old: Tensor
    advantages: Tensor
    mask: Tensor
    sequence: Tensor


def totals(batch: Batch) -> list[int]:
    """What divisors take from a whole batch: each sequence's trained tokens; 1 where nothing is trained on, so that
    there is something to divide by."""
    found = [int(tokens) for tokens in lengths(batch.mask, batch.sequence)]
    return found if any(found) else [1]


LOSSES: dict[str, Callable[[Batch], Tensor]] = {
    "ppo": lambda b: ppo(token_ratio(b.new, b.old, b.mask), b.advantages, b.mask),
    "dual clip": lambda b: ppo(token_ratio(b.new, b.old, b.mask), b.advantages, b.mask, dual=3.0),
    "gspo": lambda b: ppo(sequence_ratio(b.new, b.old, b.mask, b.sequence), b.advantages, b.mask),
    "cispo": lambda b: cispo(token_ratio(b.new, b.old, b.mask), b.new, b.advantages, b.mask),
    "cross entropy": lambda b: cross_entropy(b.new, b.mask),
    "ppo, truncated by token": lambda b: LOSSES["ppo"](b) * truncated_by_token(b.new, b.old, b.mask),
    "cispo, truncated by sequence": lambda b: (
        LOSSES["cispo"](b) * truncated_by_sequence(b.new, b.old, b.mask, b.sequence)
    ),
    "ppo, icepop": lambda b: LOSSES["ppo"](b) * icepop(b.new, b.old, b.mask),
}
NORMALISATIONS: dict[str, Callable[[Tensor, Batch, list[int]], Tensor]] = {
    "constant": lambda losses, b, whole: token_sum(losses, b.mask) / by_constant(1000.0),
    "tokens": lambda losses, b, whole: token_sum(losses, b.mask) / by_tokens(whole),
    "sequences": lambda losses, b, whole: sequence_means(losses, b.mask, b.sequence) / by_sequences(whole),
}


def loss_and_gradient(batch: Batch, loss: str, normalisation: str, whole: list[int]) -> tuple[Tensor, Tensor]:
    """The loss, and its gradient by the log-probabilities of the policy in training."""
    moving = replace(batch, new=batch.new.detach().clone().requires_grad_())
    total = NORMALISATIONS[normalisation](LOSSES[loss](moving), moving, whole)
    (gradient,) = torch.autograd.grad(total, moving.new)
    return total.detach(), gradient


Token = tuple[float, float, bool]
Episode = tuple[list[Token], float]
_tokens = st.tuples(st.floats(-8.0, 0.0), st.floats(-8.0, 0.0), st.booleans())
episodes: st.SearchStrategy[list[Episode]] = st.lists(
    st.tuples(st.lists(_tokens, min_size=1, max_size=5), st.floats(-3.0, 3.0)), min_size=1, max_size=5
)
"""Episodes of up to five tokens, each a new and an old log-probability and whether it is trained on, with one advantage
an episode."""


def packed(found: list[Episode]) -> Batch:
    """One after the other, `[tokens]`."""
    rows = [(*token, advantage, place) for place, (tokens, advantage) in enumerate(found) for token in tokens]
    new, old, mask, advantages, sequence = zip(*rows, strict=True)
    return Batch(_numbers(new), _numbers(old), _numbers(advantages), torch.tensor(mask), torch.tensor(sequence))


def padded(found: list[Episode], filler: float) -> Batch:
    """One a row, `[episodes, longest]`, with `filler` wherever there is nothing."""
    longest = max(len(tokens) for tokens, _ in found)
    lined = [(tokens + [(filler, filler, False)] * (longest - len(tokens)), advantage) for tokens, advantage in found]
    flat = packed(lined)
    shape = (len(found), longest)
    return Batch(*(getattr(flat, name).reshape(shape) for name in Batch.__dataclass_fields__))


def _numbers(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
