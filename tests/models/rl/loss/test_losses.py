"""Losses against numbers worked out by hand, and their gradients against differences."""

import math

import pytest
import torch
from torch import Tensor

from selfplay.rl.loss.losses import cispo, cross_entropy, ppo
from selfplay.rl.loss.ratios import sequence_ratio, token_ratio

OLD = torch.tensor([-1.0, -1.0, -3.0])
NEW = OLD + torch.tensor([math.log(0.5), 0.0, math.log(10.0)])
"""Ratios 0.5, 1 and 10."""
ADVANTAGES = torch.tensor([1.0, -1.0, -4.0])
ALL = torch.ones(3, dtype=torch.bool)


def close(found: Tensor, *expected: float) -> None:
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-4, rtol=1e-4)


def test_dual_clip_bounds_what_ppo_does_not() -> None:
    """Ratios [2, 2, .5], advantages [2, -2, 2]: min(4, 1.2 * 2) = 2.4; min(-4, -2.4) = -4, which c = 1.5 holds at
    1.5 * -2 = -3; min(1, 1.6) = 1. Losses are the negatives."""
    ratio, advantages = torch.tensor([2.0, 2.0, 0.5]), torch.tensor([2.0, -2.0, 2.0])
    close(ppo(ratio, advantages, ALL, 0.2, 0.2, dual=1.5), -2.4, 3.0, -1.0)
    close(ppo(ratio, advantages, ALL, 0.2, 0.2), -2.4, 4.0, -1.0)


def test_dual_clip_as_nemo_and_skyrl_test_it() -> None:
    """[-0.5, 1, min(40, 3 * 4)] = 12.5 together."""
    losses = ppo(token_ratio(NEW, OLD, ALL), ADVANTAGES, ALL, 0.2, 0.2, dual=3.0)
    close(losses, -0.5, 1.0, 12.0)
    assert float(losses.sum()) == pytest.approx(12.5)


def test_clip_higher_lets_a_token_grow_by_more_than_it_may_shrink() -> None:
    """Advantage 1, ratio 2: at most 1.25. Advantage -1, ratio 0.1: at least 0.8. CWM's bounds are the defaults."""
    losses = ppo(torch.tensor([2.0, 0.1, 1.0]), torch.tensor([1.0, -1.0, 3.0]), ALL)
    close(losses, -1.25, 0.8, -3.0)


def test_cispo_keeps_the_gradient_of_every_token() -> None:
    """Weights clipped to [0.8, 1.2]: 0.8, 1, 1.2. Losses -w A log p: 0.8 * 1.69315 = 1.35452; -1 (advantage -1, log p
    -1); -1.2 * 4 * 0.69741 = -3.34759. Together -2.9931. The gradient is -w A: -0.8, 1, 4.8; PPO drops the first
    clipped one where the ratio has gone far enough."""
    new = NEW.clone().requires_grad_()
    losses = cispo(token_ratio(new, OLD, ALL), new, ADVANTAGES, ALL, 0.2, 0.2)
    close(losses, 1.35452, -1.0, -3.34759)
    assert float(losses.detach().sum()) == pytest.approx(-2.9930, abs=2e-4)
    (gradient,) = torch.autograd.grad(losses.sum(), new)
    close(gradient, -0.8, 1.0, 4.8)


def test_cispo_has_no_lower_bound_by_default() -> None:
    """MiniMax-M1 clips from above only: weight 0.5 stays."""
    close(cispo(torch.tensor([0.5]), torch.tensor([-1.0]), torch.tensor([1.0]), ALL[:1]), 0.5)


def test_gspo_is_ppo_on_the_ratio_of_a_sequence() -> None:
    """Mean log ratio (0.2 + 0.4) / 2 = 0.3, ratio 1.34986. Advantage -2, unclipped: loss 2 * 1.34986 = 2.69972 at both
    tokens. The gradient of their mean reaches each token by 1/2 of it: 1.34986."""
    new = torch.tensor([-0.8, -0.6]).requires_grad_()
    old, mask, one = torch.tensor([-1.0, -1.0]), ALL[:2], torch.zeros(2, dtype=torch.long)
    losses = ppo(sequence_ratio(new, old, mask, one), torch.full((2,), -2.0), mask)
    close(losses, 2.69972, 2.69972)
    (gradient,) = torch.autograd.grad(losses.mean(), new)
    close(gradient, 1.34986, 1.34986)


def test_cross_entropy_is_minus_log_p() -> None:
    """-log(1/2) = 0.69315 nats."""
    close(cross_entropy(torch.tensor([math.log(0.5), 0.0, math.nan]), torch.tensor([True, True, False])), 0.69315, 0, 0)


def test_on_policy_the_gradient_of_ppo_is_the_advantage() -> None:
    """At ratio 1, d/dlog p of -r A is -A: both branches of the minimum are equal, and share it."""
    new = OLD.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(ppo(token_ratio(new, OLD, ALL), ADVANTAGES, ALL).sum(), new)
    close(gradient, -1.0, 1.0, 4.0)


def test_a_ratio_that_is_infinite_in_float32_costs_no_gradient() -> None:
    """log ratio 100 with a positive advantage is clipped at 1.25, whose gradient is 0, not 0 * inf = NaN."""
    new = torch.tensor([99.0]).requires_grad_()
    loss = ppo(token_ratio(new, torch.tensor([-1.0]), ALL[:1]), torch.tensor([1.0]), ALL[:1])
    (gradient,) = torch.autograd.grad(loss.sum(), new)
    assert (loss.item(), gradient.item()) == (-1.25, 0.0)


def test_a_ratio_outside_the_mask_is_not_looked_at() -> None:
    mask, ratio = torch.tensor([True, False]), torch.tensor([1.0, math.nan])
    advantages, logprobs = torch.tensor([2.0, 2.0]), torch.tensor([-1.0, -1.0])
    close(ppo(ratio, advantages, mask), -2.0, 0.0)
    close(cispo(ratio, logprobs, advantages, mask), 2.0, 0.0)


def test_bounds_that_cannot_be() -> None:
    ratio = torch.ones(3)
    with pytest.raises(ValueError, match="bound above 1"):
        ppo(ratio, ADVANTAGES, ALL, dual=1.0)
    with pytest.raises(ValueError, match="clip bounds"):
        ppo(ratio, ADVANTAGES, ALL, low=1.5)
    with pytest.raises(ValueError, match="clip bounds"):
        cispo(ratio, OLD, ADVANTAGES, ALL, high=-0.1)
    with pytest.raises(ValueError, match="one shape"):
        ppo(ratio, ADVANTAGES[:2], ALL)


# -- gradients -----------------------------------------------------------------------------------------------------

SEQUENCE = torch.tensor([0, 0, 1, 1, 1, 2])
FULL = torch.ones(6, dtype=torch.bool)
FIXED = torch.tensor([-1.0, -0.5, -2.0, -1.5, -0.3, -0.9], dtype=torch.float64)
MOVED = FIXED + torch.tensor([0.11, -0.07, 0.53, -0.61, 0.02, 0.31], dtype=torch.float64)
"""Log ratios away from the bounds log 0.8 = -0.223 and log 1.25 = 0.223, where the losses have kinks."""
CREDIT = torch.tensor([1.5, 1.5, -0.5, -0.5, -0.5, -4.0], dtype=torch.float64)

LOSSES = {
    "ppo": lambda new: ppo(token_ratio(new, FIXED, FULL), CREDIT, FULL),
    "dual clip": lambda new: ppo(token_ratio(new, FIXED, FULL), CREDIT, FULL, dual=1.2),
    "gspo": lambda new: ppo(sequence_ratio(new, FIXED, FULL, SEQUENCE), CREDIT, FULL),
    "cross entropy": lambda new: cross_entropy(new, FULL),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_agree_with_differences(name: str) -> None:
    assert torch.autograd.gradcheck(LOSSES[name], MOVED.clone().requires_grad_())


def test_the_gradient_of_cispo_agrees_with_differences_at_a_fixed_weight() -> None:
    """Its weight is a constant to the gradient, so the difference is taken of the rest."""
    weight = token_ratio(MOVED, FIXED, FULL)
    assert torch.autograd.gradcheck(lambda new: cispo(weight, new, CREDIT, FULL), MOVED.clone().requires_grad_())
