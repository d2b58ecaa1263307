"""The rules of credit as recipes change them: other rewards, baselines and advantages."""

from dataclasses import replace
from functools import partial

import pytest
from rl.credit.credited import INJECTION, attempts, of_injection

from selfplay.rl.credit import advantages, rewards
from selfplay.rl.credit.rules import CreditRules, credit


def test_the_ablation_needs_no_attempts() -> None:
    found = of_injection([], CreditRules(valid=rewards.consistency, needs_attempts=False))
    assert (found.reward, found.advantage) == (1.0, 1.0)


def test_the_length_of_an_episode_weighs_in_the_baseline() -> None:
    """mu = (30 * 1 - 10) / 40 = 0.5; the plain mean is 0."""
    pair = [replace(attempts(1, 0)[0], tokens=30), attempts(0, 1)[0]]
    assert [earned.advantage for earned in credit(pair)] == [0.5, -1.5]
    plain = CreditRules(solver_advantages=advantages.unweighted(advantages.centred))
    assert [earned.advantage for earned in credit(pair, plain)] == [1.0, -1.0]


def test_opposing_roles_and_problems_of_different_difficulty_are_never_compared() -> None:
    """prime-rl's hierarchical GRPO is `centred` for both roles. b1: 1 of 2, reward 1 - 1.8 / 2 = 0.1; b2: 2 of 3,
    reward 1 - 1.2 = -0.2; their mean is -0.05. Attempts at b1 have mean 0, at b2 (1 + 1 - 1) / 3 = 1/3."""
    both = advantages.unweighted(advantages.centred)
    made = [replace(INJECTION, bug=bug, name=bug) for bug in ("b1", "b2")]
    tried = [replace(one, group="b1", bug="b1") for one in attempts(1, 1)]
    tried += [replace(one, group="b2", bug="b2") for one in attempts(2, 1)]
    found = credit([*made, *tried], CreditRules(injector_advantages=both, solver_advantages=both))
    assert [one.advantage for one in found] == pytest.approx([0.15, -0.15, 1, -1, 2 / 3, 2 / 3, -4 / 3])


def test_a_length_penalty_makes_the_shorter_of_two_better() -> None:
    """Both resolve it; 20 tokens are 10 too many of 10, so 1 - 0.5 against 1."""
    penalty = partial(rewards.length_penalty, free=10, longest=20, most=0.5)
    pair = [replace(episode, tokens=tokens) for episode, tokens in zip(attempts(2, 0), (10, 20), strict=True)]
    found = credit(
        pair, CreditRules(length_penalty=penalty, solver_advantages=advantages.unweighted(advantages.centred))
    )
    assert [earned.reward for earned in found] == [1.0, 0.5]
    assert [earned.advantage for earned in found] == [0.25, -0.25]


def test_shuffled_rewards_stay_in_their_group_and_follow_no_outcome() -> None:
    """200 groups, two of four resolved. In a group 4, 2 or 0 rewards agree with the outcomes, with 1/6, 4/6 and 1/6:
    2 on average, variance 4/3. So 400 of 800 agree, with a deviation of (200 * 4/3) ** 0.5 = 16.3; five are allowed."""
    agree = 0
    for number in range(200):
        group = [replace(one, name=f"{number}/{place}") for place, one in enumerate(attempts(2, 2))]
        found = credit(group, CreditRules(shuffled=True))
        assert sorted(earned.reward or 0 for earned in found) == [-1, -1, 1, 1]
        assert found == credit(group, CreditRules(shuffled=True))
        assert all(earned.advantage == earned.reward for earned in found)  # the baseline of equal lengths is 0
        agree += sum((earned.reward == 1) == (earned.episode.outcome == "resolved") for earned in found)
    assert agree == pytest.approx(400, abs=82)


def test_maximum_likelihood_for_the_solver() -> None:
    rules = CreditRules(failed=0.0, cheated=0.0, solver_advantages=advantages.unweighted(advantages.maximum_likelihood))
    assert [earned.advantage for earned in credit(attempts(1, 3), rules)] == [3.0, -1.0, -1.0, -1.0]
