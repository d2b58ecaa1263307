"""One update against a reference written out by hand: a loop over sequences, the formulas of PPO and of CWM, one step
of Adam. No row, no packing, no module of ours is in the reference."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from played_episodes import attempt, injector, taped
from tiny_models import VOCABULARY, tiny_llama
from torch import Tensor

from selfplay.train.errors import StepRefused, TrainError
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.step import Trainer
from selfplay.update.batch.crediting import credited
from selfplay.update.batch.examples import examples
from selfplay.update.batch.played import Played
from selfplay.update.errors import NothingToLearn
from selfplay.update.recipe import Recipe
from selfplay.update.step.one_update import step_options, update

EXACT = Recipe(precision="fp32", lr=1e-3, budget=40)


def trainer_of(recipe: Recipe = EXACT, refused: Path = Path("refused")) -> Trainer:
    return Trainer(
        scorer_of(tiny_llama(), ModelOptions(precision="fp32", checkpointing=False)),
        step_options(recipe, refused=refused),
    )


def token_logprobs(model: torch.nn.Module, ids: Sequence[int]) -> Tensor:
    """log p of each id given those before it; of the first one 0."""
    logits = model(input_ids=torch.tensor([list(ids)])).logits[0, :-1]
    found = logits.log_softmax(-1).gather(1, torch.tensor(list(ids))[1:, None]).squeeze(1)
    return torch.cat([torch.zeros(1), found])


def batch(off: float = 0.3) -> list[Played]:
    """A bug that one of three attempts resolves, and an invalid proposal in its group. The engine's log-probabilities
    are the model's, each off by up to `off`: ratios lie in e^-off to e^off."""
    told = (
        (injector("i1", "valid", "b1"), 31, (9, 7)), (injector("i2"), 17, (11,)),
        (attempt("s1", "resolved"), 23, (8, 5)), (attempt("s2"), 12, (4,)), (attempt("s3"), 29, (6, 6, 6)),
    )  # fmt: skip
    torch.manual_seed(5)
    found, model = [], tiny_llama()
    for episode, length, answers in told:
        ids = torch.randint(VOCABULARY, (length,)).tolist()
        with torch.no_grad():
            engine = token_logprobs(model, ids) + off * (2 * torch.rand(length) - 1)
        found.append(taped(episode, ids, answers, engine.tolist()))
    return found


def by_hand(recipe: Recipe) -> tuple[dict[str, Tensor], float, float]:
    """The weights after the step, the loss, the norm of the gradient."""
    model, episodes = tiny_llama(), batch()
    rewards = [1 - 1.8 / 3, -1.0, 1.0, -1.0, -1.0]  # s = 1/3
    counts = [16, 11, 13, 4, 18]
    means, factors = {}, {"injector": 1.0, "solver": 1.0}
    if recipe.injector_share is not None:  # 27 tokens of the injector, 35 of the solver
        factors = {"injector": recipe.injector_share * 62 / 27, "solver": (1 - recipe.injector_share) * 62 / 35}
    for role, group in (("injector", [0, 1]), ("solver", [2, 3, 4])):
        means[role] = sum(counts[i] * rewards[i] for i in group) / sum(counts[i] for i in group)
    total = torch.zeros(())
    for episode, reward in zip(episodes, rewards, strict=True):
        role, (segment,) = episode.episode.role, episode.segments
        advantage = (reward - means[role]) * factors[role]
        new = token_logprobs(model, segment.ids)
        for at, on in enumerate(segment.mask):
            if on:
                ratio = (new[at] - segment.logprobs[at]).exp()
                bounded = torch.clamp(ratio, 0.8, 1.25)
                total = total - torch.minimum(ratio * advantage, bounded * advantage)
    loss = total / 131_072
    loss.backward()
    norm = math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters()))
    after = {}
    for name, parameter in model.named_parameters():
        gradient = parameter.grad * min(1.0, recipe.clip / norm)
        after[name] = parameter.detach() - recipe.lr * gradient / (gradient.abs() + 1e-8)  # Adam's first step
    return after, float(loss.detach()), norm


@pytest.mark.parametrize(("budget", "share"), [(40, None), (200, None), (200, 0.8)])
def test_one_update_is_what_the_formulas_say(budget: int, share: float | None) -> None:
    recipe = replace(EXACT, budget=budget, injector_share=share)
    trainer = trainer_of(recipe)
    done = update(trainer, credited(batch(), recipe), recipe)
    after, loss, norm = by_hand(recipe)
    assert (done.step.loss, done.step.gradient) == (pytest.approx(loss, rel=1e-5), pytest.approx(norm, rel=1e-5))
    found = dict(trainer.scorer.model.named_parameters())
    assert found.keys() == after.keys()
    for name, parameter in found.items():
        torch.testing.assert_close(parameter.detach(), after[name], atol=1e-6, rtol=0)
    moved = max(float((after[name] - before).abs().max()) for name, before in tiny_llama().named_parameters())
    assert moved == pytest.approx(recipe.lr, rel=1e-2)  # not a comparison of two that stood still


def test_the_figures_are_those_of_the_tokens() -> None:
    """Ratios by hand from the same log-probabilities; 27 tokens of the injector, 35 of the solver."""
    trainer, episodes = trainer_of(), batch()
    done = update(trainer, credited(episodes, EXACT), EXACT)
    ratios: dict[str, list[tuple[float, float]]] = {"injector": [], "solver": []}
    advantages = {"i1": 0.4 + 4.6 / 27, "i2": -1 + 4.6 / 27, "s1": 1 + 9 / 35, "s2": -1 + 9 / 35, "s3": -1 + 9 / 35}
    with torch.no_grad():
        for one in episodes:
            (segment,) = one.segments
            new = token_logprobs(tiny_llama(), segment.ids).tolist()
            ratios[one.episode.role] += [
                (math.exp(mine - theirs), advantages[one.episode.name])
                for mine, theirs, on in zip(new, segment.logprobs, segment.mask, strict=True)
                if on
            ]
    for role, pairs in {**ratios, "both": ratios["injector"] + ratios["solver"]}.items():
        figures, count, only = done.tokens[role], len(pairs), [ratio for ratio, _ in pairs]
        clipped = sum((r > 1.25 and a > 0) or (r < 0.8 and a < 0) for r, a in pairs)
        assert figures["tokens"] == count == {"injector": 27, "solver": 35, "both": 62}[role]
        assert figures["ratio"] == pytest.approx(sum(only) / count, rel=1e-4)
        assert (figures["ratio_min"], figures["ratio_max"]) == pytest.approx((min(only), max(only)), rel=1e-4)
        assert figures["effective_sample_size"] == pytest.approx(
            sum(only) ** 2 / count / sum(r * r for r in only), rel=1e-4
        )
        assert figures["clipped"] == pytest.approx(clipped / count) and clipped > 0
        assert figures["k1"] == pytest.approx(-sum(map(math.log, only)) / count, abs=1e-5)
        assert figures["k3"] == pytest.approx(sum(r - 1 - math.log(r) for r in only) / count, abs=1e-5)
        assert figures["entropy"] == pytest.approx(math.log(VOCABULARY), abs=0.1)  # it knows nothing
        assert figures["weight"] == 1.0
    losses = [done.tokens[role]["loss_sum"] for role in ("injector", "solver")]
    assert sum(losses) / 131_072 == pytest.approx(done.step.loss, rel=1e-5)
    assert done.rollouts["injector"]["reward"] == pytest.approx({"mean": -0.3, "min": -1.0, "max": 0.4})
    assert done.rollouts["solver"]["tokens_trained_on"] == 35 and done.rollouts["solver"]["trained_on"] == 3


def test_no_learning_rate_moves_nothing_and_the_same_weights_have_ratios_of_one() -> None:
    recipe = replace(EXACT, lr=0.0)
    trainer = trainer_of(recipe)
    done = update(trainer, credited(batch(off=0.0), recipe), recipe)
    assert all(map(torch.equal, trainer.scorer.model.parameters(), tiny_llama().parameters()))
    both = done.tokens["both"]
    assert (both["ratio_min"], both["ratio_max"], both["clipped"]) == (pytest.approx(1), pytest.approx(1), 0)
    assert both["k1"] == pytest.approx(0, abs=1e-6) and done.step.gradient > 0
    assert both["effective_sample_size"] == pytest.approx(1)


def test_tokens_outside_the_mask_never_matter() -> None:
    """Observations may have any numbers, even none: the weights come out bit by bit the same."""

    def spoiled(one: Played) -> Played:
        (segment,) = one.segments
        strange = [p if on else math.nan for p, on in zip(segment.logprobs, segment.mask, strict=True)]
        return replace(one, segments=(replace(segment, logprobs=strange),))

    weights = []
    for episodes in (batch(), [spoiled(one) for one in batch()]):
        trainer = trainer_of()
        update(trainer, credited(episodes, EXACT), EXACT)
        weights.append(list(trainer.scorer.model.parameters()))
    assert all(map(torch.equal, *weights))


@pytest.mark.parametrize(
    ("choices", "losses"),
    [
        (Recipe(normalisation="tokens"), (-0.0, 62)),
        (Recipe(normalisation="sequences"), (None, 5)),
        (Recipe(loss="gspo"), (0.0, 131_072)),
        (Recipe(loss="cispo"), (None, 131_072)),
        (Recipe(correction="token"), (0.0, 131_072)),
        (Recipe(correction="sequence"), (0.0, 131_072)),
        (Recipe(correction="icepop"), (0.0, 131_072)),
        (Recipe(dual=3.0), (0.0, 131_072)),
    ],
)  # fmt: skip
def test_every_choice_is_minus_the_sum_of_advantages_on_policy(choices: Recipe, losses: tuple[float, int]) -> None:
    """Trainer and engine agree: every ratio and weight is 1, so that -A is left of a token's loss. A group's advantages
    sum to 0 over its tokens, and do not over its sequences. CISPO's loss is -A log p."""
    recipe, (total, divisor) = replace(choices, lr=0.0, precision="fp32"), losses
    episodes, trainer = batch(off=0.0), trainer_of(recipe)
    rollouts = credited(episodes, recipe)
    done = update(trainer, rollouts, recipe)
    if recipe.normalisation == "sequences":
        total = -sum(one.credit.advantage for one in rollouts)
    if recipe.loss == "cispo":
        total = -sum(
            one.credit.advantage
            * sum(
                p for p, on in zip(*(one.played.segments[0].logprobs, one.played.segments[0].mask), strict=True) if on
            )
            for one in rollouts
        )
    assert total is not None and done.step.loss == pytest.approx(total / divisor, abs=1e-6)
    assert done.tokens["both"]["weight"] == pytest.approx(1)


def test_malformed_answers_are_trained_on_punished_or_masked() -> None:
    """The first answers of i1 (advantage above 0) and of i2 (below) are malformed. The baseline counts what may be
    trained on: masked, i2 has no token left and i1 nobody to be compared with."""
    one, other = batch()[:2]
    spoiled = [replace(p, answers=(replace(p.answers[0], malformed=True), *p.answers[1:])) for p in (one, other)]
    trained = {}
    for how in ("train", "punish", "mask"):
        recipe = replace(EXACT, malformed=how)
        rollouts = credited([*spoiled, *batch()[2:]], recipe)
        trained[how] = [example.trained for example in examples(rollouts, recipe)][:2]
        if how == "mask":
            assert [str(one.credit.reason) for one in rollouts[:2]] == ["alone", "no tokens"]
    assert trained == {"train": [16, 11], "punish": [7, 11], "mask": [13, 4]}  # mask: those of s1 and s2


def test_a_batch_whose_loss_is_no_number_is_refused_and_kept(tmp_path: Path) -> None:
    one, *others = batch()
    (segment,) = one.segments
    broken = replace(one, segments=(replace(segment, logprobs=[math.nan] * len(segment.ids)),))
    trainer = trainer_of(refused=tmp_path)
    with pytest.raises(StepRefused, match="step 1 was not taken: its loss is nan") as refusal:
        update(trainer, credited([broken, *others], EXACT), EXACT)
    assert str(tmp_path / "step-1.json") in refusal.value.hint and (tmp_path / "step-1.json").is_file()
    assert all(map(torch.equal, trainer.scorer.model.parameters(), tiny_llama().parameters()))


def test_what_a_model_cannot_take_is_refused_by_name() -> None:
    one, *others = batch()
    (segment,) = one.segments
    segment.ids[5] = VOCABULARY
    with pytest.raises(TrainError, match=f"i1 #0 has id {VOCABULARY}, the vocabulary ends at {VOCABULARY}"):
        update(trainer_of(), credited([one, *others], EXACT), EXACT)
    short = replace(EXACT, budget=30)
    with pytest.raises(TrainError, match="i1 #0 has 31 tokens, the budget of a row is 30"):
        update(trainer_of(short), credited(batch(), short), short)


def test_a_batch_of_equal_rewards_teaches_nothing_and_says_why() -> None:
    episodes = [replace(one, episode=replace(one.episode, outcome="failed")) for one in batch()[2:]]
    with pytest.raises(NothingToLearn, match=r"no episode teaches anything \(3 zero advantage\)"):
        update(trainer_of(), credited(episodes, EXACT), EXACT)
