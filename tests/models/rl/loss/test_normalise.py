"""One number of many losses, which does not depend on how a batch was cut."""

import pytest
import torch

from selfplay.rl.loss.masking import rows
from selfplay.rl.loss.normalise import by_constant, by_sequences, by_tokens, sequence_means, token_sum

FIRST, SECOND = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0, 6.0, 7.0])
"""Two micro-batches of 2 and 5 tokens: 3 + 25 = 28."""


def everything(losses: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(losses, dtype=torch.bool)


def test_the_mean_over_tokens_of_uneven_micro_batches() -> None:
    """28 / 7 = 4; the mean of their means, (1.5 + 5) / 2 = 3.25, is the mistake."""
    parts = [token_sum(losses, everything(losses)) / by_tokens([2, 5]) for losses in (FIRST, SECOND)]
    assert float(sum(parts)) == pytest.approx(4.0)
    assert (float(FIRST.mean()) + float(SECOND.mean())) / 2 == 3.25


def test_a_constant_makes_a_token_independent_of_its_batch() -> None:
    """28 / 14 = 2, and in CWM's units 28 / 131072."""
    losses = torch.cat([FIRST, SECOND])
    assert float(token_sum(losses, everything(losses))) / by_constant(14) == 2.0
    assert float(token_sum(losses, everything(losses))) / by_constant(131_072) == pytest.approx(28 / 131_072)


def test_the_mean_over_sequences_of_their_means() -> None:
    """(1.5 + 5) / 2 = 3.25, here rightly."""
    losses, sequence = torch.cat([FIRST, SECOND]), torch.tensor([0, 0, 1, 1, 1, 1, 1])
    assert by_sequences([2, 5]) == 2
    assert float(sequence_means(losses, everything(losses), sequence)) / 2 == 3.25


def test_a_token_that_is_not_trained_on_is_in_no_divisor() -> None:
    """The third sequence has no token inside the mask: two count. (1 + 2) / 2 and 4 / 1."""
    losses = torch.tensor([[1.0, 2.0], [4.0, 9.0], [9.0, 9.0]])
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    assert by_sequences([2, 1, 0]) == 2 and by_tokens([2, 1, 0]) == 3
    assert float(sequence_means(losses, mask, rows(mask))) / 2 == (1.5 + 4.0) / 2
    assert float(token_sum(losses, mask)) / 3 == pytest.approx(7 / 3)


def test_a_micro_batch_without_a_trained_token_adds_nothing_and_can_be_backpropagated() -> None:
    losses = torch.tensor([float("nan"), 1.0], requires_grad=True)
    nothing = torch.zeros(2, dtype=torch.bool)
    total = token_sum(losses, nothing) + sequence_means(losses, nothing, torch.tensor([0, 1]))
    total.backward()
    assert total.item() == 0.0 and losses.grad is not None and losses.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("constant", [0, -1, float("nan")])
def test_divisors_that_cannot_be(constant: float) -> None:
    with pytest.raises(ValueError, match="divisor above 0"):
        by_constant(constant)
    for divisor in (by_tokens, by_sequences):
        with pytest.raises(ValueError, match="divisor above 0"):
            divisor([0, 0])
