"""Rewards against the numbers of the papers' formulas."""

import math
from functools import partial

import pytest

from selfplay.rl.credit.rewards import (
    ValidBugReward,
    absolute_zero,
    beta,
    consistency,
    injector_reward,
    length_penalty,
    solver_reward,
    ssr,
)

SHAPES: list[ValidBugReward] = [ssr, absolute_zero, beta]


def test_the_injectors_reward_for_groups_of_eight() -> None:
    """alpha = 0.8: 1 - 1.8 k/8 = 1 - 0.225 k for k = 1..7, -0.8 at both ends."""
    expected = [-0.8, 0.775, 0.55, 0.325, 0.1, -0.125, -0.35, -0.575, -0.8]
    assert [injector_reward(True, k, 8) for k in range(9)] == pytest.approx(expected)


def test_an_invalid_artifact_is_worst_whatever_else_is_said() -> None:
    assert injector_reward(False) == injector_reward(False, 3, 8) == -1.0


def test_alpha_sets_the_ends_and_the_slope() -> None:
    assert injector_reward(True, 0, 4, partial(ssr, alpha=0.0)) == 0.0
    assert injector_reward(True, 1, 4, partial(ssr, alpha=0.0)) == 0.75  # 1 - 1/4


@pytest.mark.parametrize(("group", "place", "height"), [(8, 0.26, 0.37), (16, 0.17, 0.60), (4, 0.37, 0.05)])
def test_where_the_expected_reward_peaks_and_how_high(group: int, place: float, height: float) -> None:
    """With solve probability p, k is binomial(group, p). Groups of 4 are nearly useless: their ends, which cost 0.8,
    are so likely that the best bug is worth 0.05 on average."""

    def expected(p: float) -> float:
        weights = [math.comb(group, k) * p**k * (1 - p) ** (group - k) for k in range(group + 1)]
        return sum(weight * ssr(k, group) for k, weight in enumerate(weights))

    best = max((step / 1000 for step in range(1001)), key=expected)
    assert (best, expected(best)) == pytest.approx((place, height), abs=0.005)


def test_a_valid_bug_earns_one_in_the_ablation() -> None:
    assert [consistency(k, 8) for k in (0, 4, 8)] == [1.0, 1.0, 1.0]
    assert consistency() == 1.0  # no attempts needed


def test_absolute_zero_pays_for_difficulty_and_nothing_at_the_ends() -> None:
    """1 - k/4 for k = 1, 2, 3."""
    assert [absolute_zero(k, 4) for k in range(5)] == [0.0, 0.75, 0.5, 0.25, 0.0]


def test_beta_peaks_at_a_share_that_the_exponents_choose() -> None:
    """s (1 - s) at quarters: 3/16, 4/16, 3/16. s (1 - s)^3 has its highest value at 1 / (1 + 3): 1/4 * 27/64."""
    assert [beta(k, 4) for k in range(5)] == [0.0, 0.1875, 0.25, 0.1875, 0.0]
    hard = [beta(k, 4, a=1.0, b=3.0) for k in range(5)]
    assert max(hard) == hard[1] == pytest.approx(27 / 256)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 2.0)])
def test_beta_refuses_exponents_that_would_pay_at_an_end(a: float, b: float) -> None:
    with pytest.raises(ValueError, match="exponents above 0"):
        beta(0, 4, a, b)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("solved", "attempts"), [(0, 0), (-1, 8), (9, 8)])
def test_counts_that_cannot_be(shape: ValidBugReward, solved: int, attempts: int) -> None:
    with pytest.raises(ValueError, match=f"{solved} of {attempts} attempts"):
        shape(solved, attempts)


def test_the_solvers_reward() -> None:
    assert (solver_reward(True), solver_reward(False)) == (1.0, -1.0)
    assert solver_reward(True, cheated=True) == solver_reward(False, cheated=True) == -1.0
    chosen = partial(solver_reward, success=2.0, failure=0.0, cheat=-3.0)
    assert (chosen(True), chosen(False), chosen(True, cheated=True)) == (2.0, 0.0, -3.0)


def test_a_length_penalty_falls_in_a_line_from_the_threshold_to_the_longest() -> None:
    """Free 1000, longest 2000: 1250 is a quarter of the way, so -0.25 (of most 1) or -0.125 (of most 0.5)."""
    penalty = partial(length_penalty, free=1000, longest=2000)
    assert [penalty(tokens) for tokens in (0, 1000, 1250, 2000, 9000)] == [0.0, 0.0, -0.25, -1.0, -1.0]
    assert penalty(1250, most=0.5) == -0.125


@pytest.mark.parametrize(("free", "longest", "most"), [(2000, 2000, 1.0), (-1, 10, 1.0), (0, 10, -1.0)])
def test_a_length_penalty_that_cannot_be(free: int, longest: int, most: float) -> None:
    with pytest.raises(ValueError, match="longest"):
        length_penalty(5, free, longest, most)
