"""A recipe: the paper's numbers by default, typed, and no impossible combination."""

import pytest

from selfplay.rl.credit.advantages import length_weighted
from selfplay.rl.credit.rules import CreditRules
from selfplay.update.errors import LearningError
from selfplay.update.recipe import Recipe, recipe_of


def test_the_defaults_are_those_of_the_paper_s_algorithm() -> None:
    recipe = Recipe()
    assert (recipe.loss, recipe.bounds, recipe.normalisation, recipe.constant) == (
        "ppo",
        (0.2, 0.25),
        "constant",
        131072,
    )
    assert recipe.rules(8) == CreditRules(attempts=8) and recipe.rules().solver_advantages is length_weighted
    assert set(recipe.chosen_filters(vocabulary=49_152)) == {"stale", "gibberish"} and recipe.stale_after == 8
    assert set(recipe.chosen_filters()) == {"stale"}  # whose vocabulary?


def test_choices_by_name() -> None:
    recipe = recipe_of({"loss": "gspo", "lr": "1e-5", "filters": "truncated,timed-out", "solver_advantages": "centred"})
    assert (recipe.lr, recipe.bounds, recipe.filters) == (1e-5, (3e-4, 4e-4), ("truncated", "timed-out"))
    assert recipe.rules().solver_advantages([1.0, 0.0], [1, 9]) == [0.5, -0.5]
    assert recipe_of({"filters": ""}).chosen_filters() == {}
    assert not recipe_of({"valid": "consistency"}).rules().needs_attempts
    assert (
        recipe_of({"correction": "icepop"}).most == 5.0 and recipe_of({"correction": "token", "cap": "3"}).most == 3.0
    )


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("speed", "1", r"there is no option 'speed'\n  The options are: budget, cap,"),
        ("lr", "fast", "the option lr: a number is needed, not 'fast'\n  Without it"),
        ("loss", "sft", "the option loss: 'ppo', 'gspo' or 'cispo' is needed, not 'sft'"),
        ("filters", "stale,bad", "there is no filter 'bad'; there are zero-advantage, stale,"),
        ("dual", "1", "dual is a bound above 1"),
        ("clip_low", "2", "clip_low lies in 0 to 1"),
        ("cap", "2", "cap needs a correction"),
        ("constant", "0", "constant above 0"),
        ("clip", "-1", "clip lies above 0"),
        ("clip", "0", "clip lies above 0"),
        ("clip", "nan", "clip: a finite number is needed"),
        ("lr", "inf", "lr: a finite number is needed"),
        ("lr", "nan", "lr: a finite number is needed"),
        ("clip_high", "inf", "clip_high: a finite number is needed"),
        ("invalid", "-inf", "invalid: a finite number is needed"),
        ("weight_decay", "-1", "weight_decay is at least 0"),
        ("stale_after", "-1", "stale_after and rare are at least 0"),
        ("warmup", "-1", "warmup is a number of updates, at least 0"),
        ("length_penalty", "-0.5", "length_penalty is taken from a reward: it is at least 0"),
        ("length_penalty", "0.5", "length_penalty needs 0 <= length_free < length_longest"),
        ("length_penalty", "inf", "length_penalty: a finite number is needed"),
        ("length_free", "9", "length_free and length_longest need a length_penalty above 0"),
        ("length_longest", "9.5", "the option length_longest: a whole number is needed, not '9.5'"),
        ("lora_rank", "-1", "lora_rank and lora_alpha are at least 0"),
        ("lora_alpha", "32", "lora_alpha needs a lora_rank"),
        ("solver_advantages", "maximum_likelihood", "takes rewards of at least 0: let failures earn 0"),
        ("injector_advantages", "maximum_likelihood", "takes rewards of at least 0: let failures earn 0"),
        ("solver_advantages", "raft", "raft takes rewards of at least 0: let failures earn 0"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_read(name: str, value: str, why: str) -> None:
    with pytest.raises(LearningError, match=why):
        recipe_of({name: value})


def test_choices_that_exclude_each_other() -> None:
    with pytest.raises(LearningError, match="dual bounds the loss ppo, not cispo"):
        recipe_of({"loss": "cispo", "dual": "3"})
    with pytest.raises(LearningError, match="keep_activations keeps everything"):
        recipe_of({"keep_activations": "true", "keep_attention": "false"})
    with pytest.raises(LearningError, match="offload is for layers' inputs alone"):
        recipe_of({"offload": "true"})
    with pytest.raises(LearningError, match="floor lies above 0 and at most at cap"):
        recipe_of({"correction": "icepop", "floor": "6"})
    successes = {"solver_advantages": "maximum_likelihood", "failed": "0", "cheated": "0"}
    assert recipe_of(successes)
    length = {"length_penalty": "0.5", "length_free": "10", "length_longest": "20"}
    with pytest.raises(LearningError, match="takes rewards of at least 0: let failures earn 0, no length_penalty"):
        recipe_of(successes | length)
    for free, longest in (("20", "20"), ("-1", "20")):
        with pytest.raises(LearningError, match="length_penalty needs 0 <= length_free < length_longest"):
            recipe_of({**length, "length_free": free, "length_longest": longest})
