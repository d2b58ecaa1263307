"""Advantages: how much better each episode was than the episodes it is compared with.

Each function takes the rewards of *one* group (the attempts at one bug; the injections from one prompt) and returns one
advantage per episode, in order, in units of reward unless stated. A group of one gives 0. Equal rewards give exactly 0.
All raise `ValueError` for a reward that is not a finite number.

An episode without sampled tokens must not be in a group: it would shift the others' baseline and learn nothing
(`credit` leaves it out).
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

Estimator = Callable[[Sequence[float], Sequence[int]], list[float]]
"""(rewards, sampled tokens of each episode) -> advantages."""
Deviation = Literal["sample", "population"]


def length_weighted(rewards: Sequence[float], tokens: Sequence[int]) -> list[float]:
    """A_i = R_i - mu, mu = sum(n_i R_i) / sum(n_i) with n_i the sampled tokens of episode i: the mean return over the
    group's tokens, no deviation. CWM's (arXiv 2510.02387), which SSR uses, and the default.

    Every token of an episode has its advantage, so those of the group's tokens sum to 0. Raises `ValueError` unless
    there is a count of at least 1 for each reward.
    """
    if len(tokens) != len(rewards) or any(count < 1 for count in tokens):
        raise ValueError(f"each reward of {len(rewards)} needs a count of at least 1 token, not {list(tokens)}")
    return _minus(rewards, _mean(rewards, tokens))


def centred(rewards: Sequence[float]) -> list[float]:
    """A_i = R_i - mean(R): GRPO without the deviation (Dr. GRPO, arXiv 2503.20783). For both roles it is prime-rl's
    hierarchical GRPO: injectors are compared across their group, solvers with those of their bug alone."""
    return _minus(rewards, _mean(rewards))


def standardised(rewards: Sequence[float], deviation: Deviation = "sample", epsilon: float = 1e-4) -> list[float]:
    """A_i = (R_i - mean(R)) / (std(R) + epsilon): GRPO (DeepSeekMath, arXiv 2402.03300), in units of deviations.

    `deviation`: `sample` divides the squares by n - 1, as torch does and TRL and verl with it; `population` by n, as
    numpy does. For four episodes the two differ by 15 %. TRL's epsilon is 1e-4.
    """
    centres = centred(rewards)
    if len(rewards) < 2:
        return centres
    freedom = len(rewards) - 1 if deviation == "sample" else len(rewards)
    spread = math.sqrt(sum(centre**2 for centre in centres) / freedom)
    return [centre / (spread + epsilon) if centre else 0.0 for centre in centres]


def leave_one_out(rewards: Sequence[float]) -> list[float]:
    """A_i = R_i - mean of the others = n / (n - 1) (R_i - mean(R)): RLOO (arXiv 2402.14740). Unbiased: an episode is
    not part of its own baseline."""
    return [centre * len(rewards) / max(len(rewards) - 1, 1) for centre in centred(rewards)]


def maximum_likelihood(rewards: Sequence[float]) -> list[float]:
    """A_i = (R_i - mean(R)) / mean(R), without a unit: MaxRL (arXiv 2602.02710), for rewards of 0 and 1.

    The mean over n episodes of A_i grad log p_i is then sum(R_i grad log p_i) / sum(R) - mean(grad log p): the mean
    score of the successes, less a control variate of mean 0. It is an unbiased estimate of the gradient of
    sum(pass@k / k, k = 1..n), which goes to log pass@1 as n grows; REINFORCE is its first term.
    A group without success gives 0. Raises `ValueError` for a negative reward, for which this is no likelihood.
    """
    mean = _mean_of_successes(rewards)
    return [centre / mean if mean > 0 else 0.0 for centre in centred(rewards)]


def raft(rewards: Sequence[float]) -> list[float]:
    """A_i = R_i / mean(R), and 0 for a group of equal rewards, without a unit: MaxRL without its control variate, that
    is, a group's successes are learned like lessons (RAFT, arXiv 2304.06767 and 2504.11343; filtered behaviour
    cloning), for rewards of 0 and 1.

    What failed is not made less likely: of a small model at a high rate, that can undo in two steps what it knew. And
    it costs nothing: episodes without an advantage are not trained on. Raises `ValueError` for a negative reward.
    """
    mean, differ = _mean_of_successes(rewards), len({*rewards}) > 1
    return [reward / mean if mean > 0 and differ else 0.0 for reward in rewards]


def _mean_of_successes(rewards: Sequence[float]) -> float:
    if any(reward < 0 for reward in rewards):
        raise ValueError(f"MaxRL and RAFT take rewards of at least 0, not {list(rewards)}: let a failure earn 0")
    return _mean(rewards)


def unweighted(estimator: Callable[[Sequence[float]], list[float]]) -> Estimator:
    """The estimator with an ignored argument for lengths."""
    return lambda rewards, tokens: estimator(rewards)


def _mean(rewards: Sequence[float], weights: Sequence[int] = ()) -> float:
    """The weighted mean, computed as an offset from the first reward, so that it is exact for equal rewards."""
    _refuse_not_finite(rewards)
    if not rewards:
        return 0.0
    weights = weights or [1] * len(rewards)
    return rewards[0] + sum(w * (r - rewards[0]) for w, r in zip(weights, rewards, strict=True)) / sum(weights)


def _minus(rewards: Sequence[float], mean: float) -> list[float]:
    return [reward - mean for reward in rewards]


def _refuse_not_finite(rewards: Sequence[float]) -> None:
    if not all(map(math.isfinite, rewards)):
        raise ValueError(f"rewards must be finite, not {list(rewards)}")
