"""Advantages against numbers worked out by hand, and what must hold for any group."""

import math
import statistics
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.rl.credit.advantages import (
    Estimator,
    centred,
    leave_one_out,
    length_weighted,
    maximum_likelihood,
    raft,
    standardised,
    unweighted,
)

CENTRED: list[Estimator] = [length_weighted, unweighted(centred), unweighted(leave_one_out)]
ALL: list[Estimator] = [*CENTRED, unweighted(standardised), unweighted(maximum_likelihood), unweighted(raft)]
groups = st.lists(st.tuples(st.floats(-10, 10), st.integers(1, 100_000)), min_size=2, max_size=16)


def test_the_default_weighs_an_episode_by_its_tokens() -> None:
    """CWM: mu = (100 * 1 + 300 * -1) / 400 = -0.5, so 1 - mu = 1.5 and -1 - mu = -0.5; over tokens 150 - 150 = 0."""
    assert length_weighted([1.0, -1.0], [100, 300]) == [1.5, -0.5]


def test_equal_lengths_make_it_the_plain_mean() -> None:
    assert length_weighted([6.0, 3.0], [7, 7]) == centred([6.0, 3.0])


def test_grpo_without_deviation() -> None:
    """Means 4.5 and 10.5."""
    assert [centred([6.0, 3.0]), centred([9.0, 12.0])] == [[1.5, -1.5], [-1.5, 1.5]]


def test_leave_one_out() -> None:
    """The baseline of 6 is 3, that of 3 is 6; alone there is none."""
    assert [leave_one_out(group) for group in ([6.0, 3.0], [9.0, 12.0], [1.0])] == [[3.0, -3.0], [-3.0, 3.0], [0.0]]
    assert leave_one_out([1.0, 2.0, 6.0]) == pytest.approx([1 - 4, 2 - 3.5, 6 - 1.5])


def test_maximum_likelihood() -> None:
    """Mean 1/4: (1 - 1/4) / (1/4) = 3, (0 - 1/4) / (1/4) = -1."""
    assert maximum_likelihood([1.0, 0.0, 0.0, 0.0]) == [3.0, -1.0, -1.0, -1.0]
    assert maximum_likelihood([0.0, 0.0]) == [0.0, 0.0]


def test_successes_alone() -> None:
    """Mean 1/4: 1 / (1/4) = 4; where all succeed there is nothing to learn."""
    assert raft([1.0, 0.0, 0.0, 0.0]) == [4.0, 0.0, 0.0, 0.0]
    assert raft([1.0, 1.0, 0.0]) == pytest.approx([1.5, 1.5, 0.0])
    assert raft([0.0, 0.0]) == raft([1.0, 1.0]) == [0.0, 0.0] and raft([1.0]) == [0.0] and raft([]) == []


@pytest.mark.parametrize("estimator", [maximum_likelihood, raft])
def test_successes_refuse_a_failure_of_minus_one(estimator: Callable[[Sequence[float]], list[float]]) -> None:
    with pytest.raises(ValueError, match="let a failure earn 0"):
        estimator([1.0, -1.0])


def test_the_deviation_is_named() -> None:
    """[1, 1, 1, 0]: centres 1/4, 1/4, 1/4, -3/4; their squares sum to 12/16. Sample: sqrt(0.75 / 3) = 0.5;
    population: sqrt(0.75 / 4) = 0.4330."""
    sample = standardised([1.0, 1.0, 1.0, 0.0], epsilon=0.0)
    population = standardised([1.0, 1.0, 1.0, 0.0], "population", epsilon=0.0)
    assert sample == pytest.approx([0.5, 0.5, 0.5, -1.5])
    assert population == pytest.approx([0.25 / math.sqrt(0.1875)] * 3 + [-0.75 / math.sqrt(0.1875)])


def test_the_standardised_advantages_of_trl() -> None:
    """TRL's `GRPOTrainer` with `scale_rewards="group"`: (r - mean) / (std + 1e-4), std of torch, which is the sample's.
    For [1, 2, 3, 6]: mean 3, squares 4 + 1 + 0 + 9 = 14, std sqrt(14 / 3) = 2.160247."""
    expected = [-2 / 2.160347, -1 / 2.160347, 0.0, 3 / 2.160347]
    assert standardised([1.0, 2.0, 3.0, 6.0]) == pytest.approx(expected, abs=1e-6)
    assert statistics.stdev([1, 2, 3, 6]) == pytest.approx(2.160247, abs=1e-6)


@pytest.mark.parametrize("estimator", ALL)
def test_one_alone_has_no_advantage_and_nobody_none(estimator: Estimator) -> None:
    assert estimator([0.775], [10]) == [0.0]
    assert estimator([], []) == []


@pytest.mark.parametrize("estimator", ALL)
def test_equal_rewards_give_exactly_zero(estimator: Estimator) -> None:
    """0.1 three times is 0.30000000000000004, a third of which is not 0.1."""
    assert estimator([0.1] * 3, [5, 5, 5]) == [0.0] * 3


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_reward_that_is_no_number_is_refused(estimator: Estimator, bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        estimator([1.0, bad], [1, 1])


@pytest.mark.parametrize("tokens", [[1], [1, 2, 3], [1, 0], [5, -1]])
def test_lengths_that_cannot_be(tokens: list[int]) -> None:
    with pytest.raises(ValueError, match="at least 1 token"):
        length_weighted([1.0, -1.0], tokens)


@pytest.mark.parametrize("estimator", CENTRED)
@given(group=groups, constant=st.floats(-100, 100))
@settings(max_examples=50)
def test_a_constant_added_to_all_rewards_changes_nothing(
    estimator: Estimator, group: list[tuple[float, int]], constant: float
) -> None:
    rewards, tokens = [reward for reward, _ in group], [count for _, count in group]
    moved = estimator([reward + constant for reward in rewards], tokens)
    assert moved == pytest.approx(estimator(rewards, tokens), abs=1e-9)


@given(rewards=st.lists(st.integers(-10, 10), min_size=2, max_size=16), constant=st.integers(-100, 100))
@settings(max_examples=50)
def test_nor_does_it_change_standardised_ones(rewards: list[int], constant: int) -> None:
    assert standardised([reward + constant for reward in rewards]) == pytest.approx(standardised(rewards), abs=1e-9)


@given(group=groups)
@settings(max_examples=50)
def test_the_advantages_of_a_groups_tokens_sum_to_zero(group: list[tuple[float, int]]) -> None:
    rewards, tokens = [reward for reward, _ in group], [count for _, count in group]
    advantages = length_weighted(rewards, tokens)
    assert sum(a * n for a, n in zip(advantages, tokens, strict=True)) / sum(tokens) == pytest.approx(0, abs=1e-9)
    assert [sum(centred(rewards)), sum(leave_one_out(rewards))] == pytest.approx([0, 0], abs=1e-9)


@given(group=groups)
@settings(max_examples=50)
def test_leaving_one_out_is_the_mean_of_the_others(group: list[tuple[float, int]]) -> None:
    rewards = [reward for reward, _ in group]
    others = [statistics.fmean(rewards[:i] + rewards[i + 1 :]) for i in range(len(rewards))]
    expected = [reward - mean for reward, mean in zip(rewards, others, strict=True)]
    assert leave_one_out(rewards) == pytest.approx(expected, abs=1e-9)
