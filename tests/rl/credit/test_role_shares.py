"""Weights of both roles, worked out by hand."""

import pytest

from selfplay.rl.credit.role_shares import role_weights


def test_the_injector_has_its_share_and_the_sum_stays() -> None:
    """30 and 10 tokens at one half: each role weighs 20, so 20/30 and 20/10 a token."""
    assert role_weights(30, 10, 0.5) == pytest.approx((2 / 3, 2.0))


@pytest.mark.parametrize(("injector", "solver"), [(0, 7), (7, 0)])
def test_one_role_alone_is_not_weighed(injector: int, solver: int) -> None:
    assert role_weights(injector, solver, 0.2) == (1.0, 1.0)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_a_role_without_any_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="a share between 0 and 1"):
        role_weights(1, 1, share)
