"""Played episodes with their credit: what each filter takes, by name, and what it leaves to the others."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from played_episodes import attempt, injector, taped

from selfplay.train.errors import TrainError
from selfplay.update.batch.crediting import TOO_LONG, Credited, credited
from selfplay.update.batch.examples import ADVANTAGES, INJECTOR, SAMPLED, examples
from selfplay.update.batch.figures import SecondsSpent
from selfplay.update.batch.played import untaped
from selfplay.update.batch.summary import require_gradient, rollout_figures, spent_by_role
from selfplay.update.errors import LearningError, NothingToLearn
from selfplay.update.recipe import Recipe, recipe_of

RESOLVED = taped(attempt("s1", "resolved"), range(12), (4,), [-0.5] * 12)
FAILED = taped(attempt("s2"), range(20), (4, 6), [-0.5] * 20)


def why(rollouts: Sequence[Credited]) -> list[str]:
    return [one.credit.no_gradient for one in rollouts]


def test_nothing_is_taken_from_a_group_of_two() -> None:
    """Length-weighted mean (4 - 10) / 14 = -3/7."""
    found = credited([RESOLVED, FAILED], Recipe())
    assert why(found) == ["", ""]
    assert [one.credit.advantage for one in found] == pytest.approx([10 / 7, -4 / 7])


def test_a_length_penalty_is_taken_from_the_rewards_of_both_roles() -> None:
    """Free 4, longest 16, at most 0.5. Four tokens lose nothing; ten are half of the way: -0.25. The injector's twelve
    are two thirds of it; its bug is resolved by one of two: 1 - 1.8 / 2 = 0.1, less 0.5 * 8 / 12."""
    recipe = recipe_of({"length_penalty": "0.5", "length_free": "4", "length_longest": "16"})
    planted = taped(injector("i1", "valid", RESOLVED.episode.bug), range(20), (4, 8), [-0.5] * 20)
    found = credited([RESOLVED, FAILED, planted], recipe)
    assert [one.credit.reward for one in found] == pytest.approx([1.0, -1.25, 0.1 - 0.5 * 8 / 12])
    assert found[0].credit.advantage == pytest.approx(10 / 14 * 2.25)


def test_what_is_too_old_is_taken_and_stays_in_the_baseline() -> None:
    """Version 9 is to be trained: version 0 is nine behind, and SSR drops what is more than eight behind."""
    young = replace(RESOLVED, answers=(replace(RESOLVED.answers[0], versions=(9, 9)),))
    found = credited([young, FAILED], Recipe())
    assert why(found) == ["", "stale"] and found[0].credit.advantage == pytest.approx(10 / 7)
    assert why(credited([young, FAILED], Recipe(stale_after=9))) == ["", ""]
    assert why(credited([RESOLVED, FAILED], Recipe(), version=9)) == ["stale", "stale"]
    with pytest.raises(LearningError, match="sampled by a policy 9 versions ahead of the trainer's"):
        credited([young, FAILED], Recipe(), version=0)


def test_gibberish_needs_a_vocabulary() -> None:
    """Ids above 10 are rare here; log p = -9 is less than a uniform draw of 100 words has, by more than e^2."""
    odd = taped(attempt("s2"), range(20), (4, 6), [-9.0] * 20)
    recipe = Recipe(rare=10)
    assert why(credited([RESOLVED, odd], recipe, vocabulary=100)) == ["", "gibberish"]
    assert why(credited([RESOLVED, odd], recipe)) == ["", ""]


def test_finishes_are_filtered_where_a_recipe_says_so() -> None:
    late = replace(FAILED, finish="out_of_time")
    assert why(credited([RESOLVED, late], Recipe())) == ["", ""]
    assert why(credited([RESOLVED, late], Recipe(filters=("timed-out",)))) == ["", "timed-out"]


def test_a_sequence_longer_than_the_budget_is_refused_cut_or_left_out() -> None:
    """FAILED has 20 ids: answers at 3 to 6 and 9 to 14. Its first 12 hold seven of the ten tokens."""
    for how in ("refuse", "cut", "leave-out"):
        recipe = Recipe(budget=12, too_long=how)
        found = credited([RESOLVED, FAILED], recipe)
        if how == "refuse":
            with pytest.raises(TrainError, match="s2 #0 has 20 tokens, the budget of a row is 12"):
                examples(found, recipe)
            continue
        kept = {one.name: (len(one.ids), one.trained) for one in examples(found, recipe)}
        assert kept == {"s1 #0": (12, 4), **({"s2 #0": (12, 7)} if how == "cut" else {})}
        assert why(found) == ["", "" if how == "cut" else TOO_LONG]


def test_a_sequence_holds_the_tape_and_what_a_loss_reads() -> None:
    found = credited([RESOLVED, FAILED], Recipe())
    second = examples(found, Recipe())[1]
    assert list(second.ids) == list(range(20))
    assert second.mask == [0] * 3 + [1] * 4 + [0] * 2 + [1] * 6 + [0] * 5
    assert set(second.numbers[ADVANTAGES]) == {found[1].credit.advantage}
    assert set(second.numbers[SAMPLED]) == {-0.5} and set(second.numbers[INJECTOR]) == {0.0}


@pytest.mark.parametrize(
    ("normalisation", "of_injector", "of_solver"), [("tokens", 0.25 * 34 / 20, 0.75 * 34 / 14), ("sequences", 0.5, 1.5)]
)
def test_a_recipe_sets_the_injectors_share_of_an_update(
    normalisation: str, of_injector: float, of_solver: float
) -> None:
    """20 trained tokens of the injector and 14 of the solver; two sequences of each. Sum of the weights: 34, or 4."""
    recipe = recipe_of({"injector_share": "0.25", "normalisation": normalisation})
    planted = [
        taped(proposed, range(30), (8, 2), [-0.5] * 30)
        for proposed in (injector("i1", "valid", RESOLVED.episode.bug), injector("i2"))
    ]
    found = credited([RESOLVED, FAILED, *planted], recipe)
    plain, shared = examples(found, replace(recipe, injector_share=None)), examples(found, recipe)
    assert [one.name for one in shared] == [one.name for one in plain] and len(shared) == 4
    for before, after in zip(plain, shared, strict=True):
        factor = of_injector if before.numbers[INJECTOR][0] else of_solver
        assert list(after.numbers[ADVANTAGES]) == pytest.approx([factor * one for one in before.numbers[ADVANTAGES]])
        assert after.numbers[SAMPLED] is before.numbers[SAMPLED] and after.mask == before.mask


def test_members_of_an_injector_group_that_saw_two_prompts_are_refused() -> None:
    one = taped(injector("i1"), range(9), (3,))
    other = replace(one, episode=replace(one.episode, name="i2", prompt="another"))
    with pytest.raises(LearningError, match=r"the injector group shop/removal/a\.py has two prompts"):
        credited([one, other], Recipe())
    assert why(credited([one, untaped(injector("i2"), "submitted")], Recipe())) == ["alone", "no tokens"]


def test_a_batch_that_teaches_nothing_says_what_took_how_many() -> None:
    lost = replace(FAILED, episode=replace(FAILED.episode, lost=True, name="s3"))
    damaged = untaped(attempt("s4"), "submitted", "cut short")
    found = credited([FAILED, replace(FAILED, episode=replace(FAILED.episode, name="s5")), lost, damaged], Recipe())
    with pytest.raises(
        NothingToLearn, match=r"teaches anything \(2 zero advantage, 1 damaged tape, 1 lost\)\n.*curriculum --group"
    ):
        require_gradient(found)
    with pytest.raises(NothingToLearn, match="there is none"):
        require_gradient([])


def test_a_batch_in_figures() -> None:
    figures = rollout_figures(credited([RESOLVED, FAILED], Recipe()))
    assert set(figures) == {"solver"}
    solver = figures["solver"]
    assert (solver["episodes"], solver["trained_on"], solver["tokens_trained_on"]) == (2, 2, 14)
    assert solver["reward"] == {"mean": 0.0, "min": -1.0, "max": 1.0} and solver["without_a_gradient"] == {}
    assert solver["outcomes"] == {"resolved": 1, "failed": 1} and solver["versions_behind"] == {"0": 2}


def test_seconds_are_added_up_by_what_they_went_to() -> None:
    spent: SecondsSpent = {"generation": 7.0, "tools": 1.5, "judging": 6.0, "rest": 5.5}
    both = [replace(RESOLVED, spent=spent), replace(FAILED, spent={**spent, "tools": 0.25})]
    found = spent_by_role(credited([*both, replace(FAILED, episode=replace(FAILED.episode, name="s3"))], Recipe()))
    assert [*found] == ["solver"], "the third one's times are unknown"
    assert found["solver"] == {"generation": 14.0, "tools": 1.75, "judging": 12.0, "rest": 11.0}


def test_an_episode_is_as_stale_as_the_policy_to_train_is_ahead_of_its_oldest_token() -> None:
    """The policy is at version 5; one attempt was sampled by 2 and 3, the other by 4."""
    old = replace(RESOLVED, answers=(*(replace(one, versions=(2, 3)) for one in RESOLVED.answers),))
    new = replace(FAILED, answers=(*(replace(one, versions=(4, 4)) for one in FAILED.answers),))
    for version, behind in ((5, {"3": 1, "1": 1}), (None, {"2": 1, "0": 1})):
        figures = rollout_figures(credited([old, new], Recipe(), version=version))
        assert figures["solver"]["versions_behind"] == behind
    assert why(credited([old, new], Recipe(stale_after=2), version=5)) == ["stale", ""]
