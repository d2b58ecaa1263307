"""Rewards against the numbers of the paper's formula."""

import pytest

from selfplay.rl.rewards import injector_reward, solver_reward


def test_the_injectors_reward_for_groups_of_eight() -> None:
    """alpha = 0.8: 1 - 1.8 k/8 = 1 - 0.225 k for k = 1..7, -0.8 at both ends."""
    expected = [-0.8, 0.775, 0.55, 0.325, 0.1, -0.125, -0.35, -0.575, -0.8]
    assert [injector_reward(True, k, 8) for k in range(9)] == pytest.approx(expected)


def test_an_invalid_artifact_is_worst_whatever_else_is_said() -> None:
    assert injector_reward(False) == injector_reward(False, 3, 8) == -1.0


def test_alpha_sets_the_ends_and_the_slope() -> None:
    assert injector_reward(True, 0, 4, alpha=0.0) == 0.0
    assert injector_reward(True, 1, 4, alpha=0.0) == 0.75  # 1 - 1/4


@pytest.mark.parametrize(("solved", "attempts"), [(0, 0), (-1, 8), (9, 8)])
def test_counts_that_cannot_be(solved: int, attempts: int) -> None:
    with pytest.raises(ValueError, match=f"{solved} of {attempts} attempts"):
        injector_reward(True, solved, attempts)


def test_the_solvers_reward() -> None:
    assert (solver_reward(True), solver_reward(False)) == (1.0, -1.0)
