"""Estimates from repeated attempts at the same bugs: pass@k, and how sure a mean over bugs is.

Intervals resample bugs, not attempts: attempts at one bug are not independent, and the question is how a policy would
do on other bugs of this kind.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

RESAMPLES = 2_000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over bugs, and the interval that contains `LEVEL` of the means of resampled bugs; no interval for one
    bug."""

    mean: float
    low: float | None = None
    high: float | None = None


def pass_at_k(attempts: int, resolved: int, k: int) -> float:
    """The probability that at least one of `k` attempts, drawn without replacement from `attempts`, is resolved: the
    unbiased estimator 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374, equation 1).

    Raises `ValueError` unless 0 <= resolved <= attempts and 1 <= k <= attempts."""
    if not 0 <= resolved <= attempts or not 1 <= k <= attempts:
        raise ValueError(f"pass@{k} of {resolved} resolved among {attempts} attempts")
    return 1 - math.comb(attempts - resolved, k) / math.comb(attempts, k)


def estimate(values: Sequence[float], seed: int = 0) -> Estimate:
    """The mean of one value per bug, with its percentile bootstrap interval (Efron 1979); the same seed gives the same
    interval. Raises `ValueError` without a value."""
    if not values:
        raise ValueError("no bug to estimate from")
    if len(values) == 1:
        return Estimate(values[0])
    chance = random.Random(seed)
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    outside = round((1 - LEVEL) / 2 * RESAMPLES)
    return Estimate(fmean(values), means[outside], means[-1 - outside])


def difference(ours: Sequence[float], theirs: Sequence[float], seed: int = 0) -> Estimate:
    """The mean of `ours` - `theirs`, one pair per bug, with its interval: pairs are resampled, so that how hard a bug
    is cancels out. Raises `ValueError` for sequences of different lengths, or empty ones."""
    return estimate([one - other for one, other in zip(ours, theirs, strict=True)], seed)
