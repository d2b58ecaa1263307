"""pass@k and intervals, against counting and numbers worked out by hand."""

from itertools import combinations

import pytest

from selfplay.rl.credit.estimates import difference, estimate, pass_at_k


@pytest.mark.parametrize(("attempts", "resolved"), [(1, 0), (4, 1), (5, 2), (6, 6), (7, 3)])
def test_pass_at_k_is_the_share_of_draws_with_a_success(attempts: int, resolved: int) -> None:
    outcomes = [True] * resolved + [False] * (attempts - resolved)
    for k in range(1, attempts + 1):
        draws = list(combinations(outcomes, k))
        assert pass_at_k(attempts, resolved, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_k_by_hand() -> None:
    assert pass_at_k(8, 2, 1) == pytest.approx(2 / 8)
    assert pass_at_k(8, 2, 4) == pytest.approx(1 - 15 / 70)  # C(6, 4) = 15 of C(8, 4) = 70 draws hold no success


@pytest.mark.parametrize(("attempts", "resolved", "k"), [(4, 5, 1), (4, -1, 1), (4, 2, 0), (4, 2, 5), (0, 0, 1)])
def test_what_cannot_be_drawn_is_refused(attempts: int, resolved: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"pass@{k} of {resolved} resolved among {attempts}"):
        pass_at_k(attempts, resolved, k)


def test_an_interval_is_that_of_the_resampled_means() -> None:
    found = estimate([0.0, 1.0] * 50)
    # Of 100 fair values the mean has a deviation of 0.5 / sqrt(100) = 0.05: 95 % lie within about 1.96 * 0.05 = 0.098.
    assert found.mean == 0.5 and found.low is not None and found.high is not None
    assert found.low == pytest.approx(0.402, abs=0.02) and found.high == pytest.approx(0.598, abs=0.02)
    assert estimate([0.0, 1.0] * 50) == found and estimate([0.0, 1.0] * 50, seed=1) != found


def test_of_one_bug_there_is_no_interval_and_of_none_no_estimate() -> None:
    assert estimate([0.25]).low is None and estimate([0.25]).mean == 0.25
    assert (estimate([1.0, 1.0]).low, estimate([1.0, 1.0]).high) == (1.0, 1.0)
    with pytest.raises(ValueError, match="no bug to estimate from"):
        estimate([])


def test_pairs_cancel_how_hard_a_bug_is() -> None:
    hard = [number / 20 for number in range(20)]
    better = [value + 0.05 for value in hard]
    found = difference(better, hard)
    assert found.mean == pytest.approx(0.05) and found.low == pytest.approx(0.05) and found.high == pytest.approx(0.05)
    apart = estimate(better)
    assert apart.high is not None and apart.low is not None and apart.high - apart.low > 0.2  # unpaired, it would drown
    with pytest.raises(ValueError):
        difference([1.0], [1.0, 0.0])
