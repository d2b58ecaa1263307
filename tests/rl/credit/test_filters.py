"""What each filter takes, and that it is named."""

import math
from functools import partial

import pytest

from selfplay.agent.actions import Finish
from selfplay.rl.credit.advantages import length_weighted
from selfplay.rl.credit.filters import (
    FILTERS,
    TIMED_OUT,
    TRUNCATED,
    TURN_LIMITED,
    Sampled,
    gibberish,
    stale,
    taken_by,
    zero_advantage,
)

GOOD = Sampled(0.5, finish="submitted")
VOCABULARY = 128_256
LIMIT = -math.log(VOCABULARY) - 2.0
"""-11.762 - 2 = -13.762."""


def test_a_rollout_that_was_better_than_its_group_is_kept() -> None:
    assert taken_by(GOOD, FILTERS) is None


def test_what_rounding_leaves_of_a_zero_is_a_zero() -> None:
    assert zero_advantage(Sampled(0.0)) and zero_advantage(Sampled(-1e-16))
    assert not zero_advantage(Sampled(1e-6))
    assert all(zero_advantage(Sampled(a)) for a in length_weighted([0.1, 0.1, 0.1], [3, 7, 11]))


def test_more_than_eight_versions_is_stale() -> None:
    """SSR drops rollouts *more than* 8 versions old."""
    assert [stale(Sampled(1.0, age)) for age in (0, 8, 9)] == [False, False, True]
    assert stale(Sampled(1.0, 3), most=2)


def test_a_policy_ahead_of_the_trainers_is_no_age() -> None:
    with pytest.raises(ValueError, match="2 versions ahead"):
        stale(Sampled(1.0, age=-2))


@pytest.mark.parametrize(
    ("token", "logprob", "taken"),
    [
        (100_001, LIMIT - 0.01, True),
        (100_000, LIMIT - 0.01, False),  # not rare: the id must be above
        (100_001, LIMIT + 0.01, False),  # rare, and likely enough
        (100_001, math.nan, False),  # an engine's NaN is the trainer's to refuse, not gibberish
        (100_001, -math.inf, True),
    ],
)
def test_gibberish_is_a_rare_token_less_likely_than_by_chance(token: int, logprob: float, taken: bool) -> None:
    rollout = Sampled(1.0, ids=[5, token, 7], logprobs=[-20.0, logprob, -0.1])  # an unlikely common token is no sign
    assert gibberish(rollout, VOCABULARY) is taken


def test_a_smaller_vocabulary_wants_a_lower_bound() -> None:
    """log(49152) = 10.803, so -12.9 is below -12.803."""
    rollout = Sampled(1.0, ids=[45_000], logprobs=[-12.9])
    assert not gibberish(rollout, 49_152)
    assert gibberish(rollout, 49_152, rare=40_000)


def test_gibberish_wants_a_log_probability_for_every_token() -> None:
    with pytest.raises(ValueError, match=r"longer|shorter"):
        gibberish(Sampled(1.0, ids=[1, 2], logprobs=[-0.1]), VOCABULARY)


@pytest.mark.parametrize(
    ("rollout", "name"),
    [
        (Sampled(0.0), "zero-advantage"),
        (Sampled(1.0, age=9), "stale"),
        (Sampled(1.0, finish=Finish.OUT_OF_CONTEXT), "truncated"),
        (Sampled(1.0, finish=Finish.OUT_OF_TIME), "timed-out"),
        (Sampled(1.0, finish=Finish.OUT_OF_CALLS), "turn-limited"),
        (Sampled(1.0, ids=[120_000], logprobs=[-30.0]), "gibberish"),
    ],
)
def test_each_filter_names_what_it_took(rollout: Sampled, name: str) -> None:
    filters = {**FILTERS, "gibberish": partial(gibberish, vocabulary=VOCABULARY)}
    assert taken_by(rollout, filters) == name
    assert taken_by(rollout, {key: value for key, value in filters.items() if key != name}) is None


def test_the_ends_that_filters_know_are_those_of_episodes() -> None:
    """`rl` imports no other room, so it spells them itself."""
    assert {*TRUNCATED, *TIMED_OUT, *TURN_LIMITED} <= {str(finish) for finish in Finish}
