"""Ratios and corrections against numbers worked out by hand. e^0.5 = 1.6487, e^-0.5 = 0.6065, e = 2.7183."""

import math

import pytest
import torch
from torch import Tensor

from selfplay.rl.loss.corrections import effective_sample_size, icepop, truncated_by_sequence, truncated_by_token
from selfplay.rl.loss.masking import inside, lengths, per_sequence, rows
from selfplay.rl.loss.ratios import log_ratio, sequence_ratio, token_ratio

OLD = torch.tensor([-1.0, -2.0, -3.0])
ALL = torch.ones(3, dtype=torch.bool)
ONE = torch.zeros(3, dtype=torch.long)
"""All three tokens belong to sequence 0."""


def after(*log_ratios: float) -> Tensor:
    return OLD + torch.tensor(log_ratios)


def effective(weights: list[float]) -> float:
    return effective_sample_size(sum(weights), sum(weight**2 for weight in weights), len(weights))


def close(found: Tensor, *expected: float) -> None:
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-4, rtol=1e-4)


def test_truncated_importance_sampling_by_token() -> None:
    """e^1 is above the cap of 2."""
    close(truncated_by_token(after(0.5, -0.5, 1.0), OLD, ALL), 1.6487, 0.6065, 2.0)


def test_truncated_importance_sampling_by_sequence() -> None:
    """e^(0.5 - 0.5 + 1) = e; without the middle e^1.5 = 4.4817; e^3 = 20.1 meets the cap of 5."""
    close(truncated_by_sequence(after(0.5, -0.5, 1.0), OLD, ALL, ONE, cap=10.0), *[2.7183] * 3)
    middle = torch.tensor([True, False, True])
    close(truncated_by_sequence(after(0.5, -0.5, 1.0), OLD, middle, ONE, cap=10.0), 4.4817, 0.0, 4.4817)
    close(truncated_by_sequence(after(1.0, 1.0, 1.0), OLD, ALL, ONE, cap=5.0), 5.0, 5.0, 5.0)


def test_two_sequences_of_one_pack_have_weights_of_their_own() -> None:
    weights = truncated_by_sequence(after(0.5, 0.5, -0.5), OLD, ALL, torch.tensor([0, 0, 1]), cap=10.0)
    close(weights, 2.7183, 2.7183, 0.6065)


def test_icepop_drops_what_lies_outside_its_bounds_and_leaves_the_rest() -> None:
    """Ratios 0.4, 0.8 and 6 against [0.5, 5]; of three tokens one is left, so (0.8)^2 / (3 * 0.8^2) = 1/3."""
    weights = icepop(after(math.log(0.4), math.log(0.8), math.log(6.0)), OLD, ALL)
    close(weights, 0.0, 0.8, 0.0)
    assert effective(weights.tolist()) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("weights", "share"), [([2.0, 2.0, 2.0], 1.0), ([5.0, 0.0, 0.0], 1 / 3), ([0.0, 0.0, 0.0], 0.0)]
)
def test_the_effective_sample_size(weights: list[float], share: float) -> None:
    assert effective(weights) == pytest.approx(share)


def test_the_ratio_of_a_sequence_is_the_geometric_mean_of_its_tokens() -> None:
    """Mean log ratios 0.5 (of 0.2 and 0.8) and 1."""
    ratio = sequence_ratio(after(0.2, 0.8, 1.0), OLD, ALL, torch.tensor([0, 0, 1]))
    close(ratio, 1.6487, 1.6487, 2.7183)


def test_outside_the_mask_a_ratio_is_one() -> None:
    mask = torch.tensor([True, False, True])
    close(token_ratio(after(0.5, math.nan, 0.0), OLD, mask), 1.6487, 1.0, 1.0)
    close(sequence_ratio(after(0.5, math.inf, 0.5), OLD, mask, ONE), 1.6487, 1.0, 1.6487)


def test_corrections_carry_no_gradient_and_ratios_do() -> None:
    new = after(0.1, 0.2, 0.3).requires_grad_()
    assert not truncated_by_token(new, OLD, ALL).requires_grad
    assert not truncated_by_sequence(new, OLD, ALL, ONE).requires_grad
    assert not icepop(new, OLD, ALL).requires_grad
    old = OLD.clone().requires_grad_()
    (token_ratio(new, old, ALL) + sequence_ratio(new, old, ALL, ONE)).sum().backward()
    assert new.grad is not None and old.grad is None


@pytest.mark.parametrize("gap", [100.0, -100.0])
def test_probabilities_far_apart_stay_finite(gap: float) -> None:
    """e^100 is infinite in float32; held to e^20 it is 4.85e8."""
    new = after(gap, gap, gap).requires_grad_()
    ratio = token_ratio(new, OLD, ALL)
    ratio.sum().backward()
    assert ratio.isfinite().all() and new.grad is not None and new.grad.isfinite().all()
    assert sequence_ratio(new, OLD, ALL, ONE).isfinite().all()
    assert truncated_by_sequence(new, OLD, ALL, ONE).max() <= 2.0


def test_the_rows_of_a_padded_batch_are_its_sequences() -> None:
    mask = torch.tensor([[True, True], [True, False]])
    assert rows(mask).tolist() == [[0, 0], [1, 1]]
    assert lengths(mask, rows(mask)).tolist() == [2.0, 1.0]
    assert per_sequence(torch.tensor([[1.0, 2.0], [4.0, 8.0]]), mask, rows(mask)).tolist() == [3.0, 4.0]


def test_shapes_and_bounds_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="one shape"):
        inside(OLD, ALL[:2])
    with pytest.raises(ValueError, match="boolean"):
        log_ratio(OLD, OLD, torch.ones(3))
    with pytest.raises(ValueError, match="sequence numbers"):
        per_sequence(OLD, ALL, ONE[:2])
    with pytest.raises(ValueError, match="cap above 0"):
        truncated_by_token(OLD, OLD, ALL, cap=0.0)
    with pytest.raises(ValueError, match="bounds"):
        icepop(OLD, OLD, ALL, low=2.0, high=1.0)
