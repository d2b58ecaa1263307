"""What must hold for the credit of any batch."""

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.rl.credit.rules import OUTCOMES, CreditedEpisode, Reason, RoleName, credit

BUGS = ["b1", "b2", "b3"]
patient = settings(max_examples=100)


@st.composite
def batches(draw: st.DrawFn) -> list[CreditedEpisode]:
    """Injections of two groups and attempts at three bugs, in any mixture."""
    found = []
    for number in range(draw(st.integers(0, 14))):
        role: RoleName = draw(st.sampled_from(["injector", "solver"]))
        bug = draw(st.sampled_from(BUGS))
        group = bug if role == "solver" else draw(st.sampled_from(["shop", "bank"]))
        outcome = draw(st.sampled_from(sorted(OUTCOMES[role])))
        tokens, lost = draw(st.integers(0, 500)), draw(st.booleans())
        found.append(CreditedEpisode(role, group, outcome, bug, tokens=tokens, lost=lost, name=str(number)))
    return found


@patient
@given(batch=batches(), data=st.data())
def test_the_order_of_a_batch_never_matters(batch: list[CreditedEpisode], data: st.DataObject) -> None:
    mixed = data.draw(st.permutations(batch))
    before, after = ({found.episode.name: found for found in credit(episodes)} for episodes in (batch, mixed))
    assert {name: found.reason for name, found in after.items()} == {n: found.reason for n, found in before.items()}
    for name, found in before.items():
        assert after[name].advantage == pytest.approx(found.advantage, abs=1e-9)


@patient
@given(batch=batches())
def test_the_advantages_of_a_groups_tokens_sum_to_zero(batch: list[CreditedEpisode]) -> None:
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for found in credit(batch):
        sums[found.episode.role, found.episode.group] += found.advantage * found.episode.tokens
    assert list(sums.values()) == pytest.approx([0.0] * len(sums), abs=1e-6)


@patient
@given(batch=batches())
def test_an_episode_has_an_advantage_or_a_reason(batch: list[CreditedEpisode]) -> None:
    for found in credit(batch):
        assert (found.advantage == 0) == (found.reason is not None)
        unrewarded = {Reason.LOST, Reason.NEVER_ATTEMPTED, Reason.TOO_FEW_ATTEMPTS}
        assert (found.reward is None) == (found.reason in unrewarded)


@patient
@given(batch=batches(), lost=st.integers(1, 6))
def test_lost_attempts_change_nothing_until_they_are_more_than_the_others(
    batch: list[CreditedEpisode], lost: int
) -> None:
    """As many lost ones are added to each bug as fit beside those that count."""
    counted = [sum(e.role == "solver" and e.bug == bug and not e.lost for e in batch) for bug in BUGS]
    whole = [episode for episode in batch if episode.role == "injector" or not episode.lost]
    more = [
        CreditedEpisode("solver", bug, bug=bug, lost=True, name=f"{bug}/{number}")
        for bug, count in zip(BUGS, counted, strict=True)
        for number in range(min(lost, count))
    ]
    assert credit([*whole, *more])[: len(whole)] == credit(whole)


@pytest.mark.slow
@patient
@given(batch=batches())
def test_a_second_order_bug_never_reaches_an_injector(batch: list[CreditedEpisode]) -> None:
    second = [replace(e, order=2, group=f"{e.group}/2") for e in batch if e.role == "solver"]
    assert credit([*batch, *second])[: len(batch)] == credit(batch)
