"""One update: the same however the batch is cut, and refused when it is not a number."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import VOCABULARY, tiny_llama, uneven
from torch import Tensor

from selfplay.train.errors import StepRefused, TrainError
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.packing import Example
from selfplay.train.step import StepOptions, Tokens, Trainer

FP32 = ModelOptions(precision="fp32", checkpointing=False)


def learner(**options: object) -> Trainer:
    return Trainer(scorer_of(tiny_llama(), FP32), StepOptions(**options))


def cross_entropy(tokens: Tokens) -> Tensor:
    return -tokens.logprobs.sum()


def weights(trainer: Trainer) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in trainer.scorer.parameters()]


def test_uneven_micro_batches_give_the_gradient_of_one() -> None:
    """A row of 100 tokens holds all four examples; rows of 23 hold 23 and 9 + 14, and 5 is alone: 10, 8 and 1 of their
    tokens are trained on. A mean of means would weigh that one as much as the ten."""
    examples = uneven()
    trained = sum(example.trained for example in examples)
    gradients = []
    for budget in (100, 23):
        trainer = learner(budget=budget, clip=math.inf)
        for row in trainer._rows(examples, trained):
            (cross_entropy(trainer._tokens(row)) / trained).backward()
        gradients.append([parameter.grad for parameter in trainer.scorer.parameters()])
        figures = learner(budget=budget).step(examples, cross_entropy, trained)
        assert (figures.rows, figures.tokens, figures.trained) == ({100: 1, 23: 3}[budget], 51, trained)
        gradients[-1].append(torch.tensor([figures.loss, figures.gradient, figures.entropy]))
    for one, cut in zip(*gradients, strict=True):
        torch.testing.assert_close(cut, one, atol=1e-6, rtol=1e-5)


def test_the_loss_is_the_mean_of_trained_tokens_and_a_random_model_knows_nothing() -> None:
    """A random model of 97 words has a loss and an entropy near ln 97 = 4.57."""
    examples = uneven()
    figures = learner().step(examples, cross_entropy, sum(example.trained for example in examples))
    assert figures.loss == pytest.approx(math.log(VOCABULARY), abs=0.1)
    assert figures.entropy == pytest.approx(math.log(VOCABULARY), abs=0.1)


def test_the_first_step_of_adamw_is_the_learning_rate_after_warm_up() -> None:
    """Adam's first step is lr times the gradient's sign; with a warm-up of four steps, lr / 4 times."""
    for warmup, moved in ((0, 1e-3), (4, 2.5e-4)):
        trainer = learner(lr=1e-3, warmup=warmup)
        before = weights(trainer)
        figures = trainer.step(uneven(), cross_entropy, 20)
        after = weights(trainer)
        most = max(float((new - old).abs().max()) for new, old in zip(after, before, strict=True))
        assert (figures.lr, most) == (pytest.approx(moved), pytest.approx(moved, rel=1e-2))
    trainer.steps = 3
    assert trainer.lr == 1e-3


def test_the_learning_rate_falls_along_a_cosine_and_stays_at_nothing() -> None:
    """Two steps of warm-up, then eight down: half of it after four of them."""
    trainer = learner(lr=1e-3, warmup=2, decay=10)
    for step, rate in ((0, 5e-4), (1, 1e-3), (2, 1e-3), (6, 5e-4), (9, 3.806e-5), (10, 0.0), (99, 0.0)):
        trainer.steps = step
        assert trainer.lr == pytest.approx(rate, rel=1e-3, abs=1e-9)


def test_a_gradient_is_clipped_to_its_norm() -> None:
    trainer = learner(clip=0.5, lr=0.0)
    trainer.optimizer.step = trainer.optimizer.zero_grad = lambda: None  # keep what the optimizer would be given
    figures = trainer.step(uneven(), cross_entropy, 1.0)
    norm = torch.stack([parameter.grad.norm() for parameter in trainer.scorer.parameters()]).norm()
    assert figures.gradient > 10
    assert float(norm) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("broken", ["loss", "gradient"])
def test_what_is_not_a_number_is_refused_and_the_batch_kept(broken: str, tmp_path: Path) -> None:
    """sqrt at 0 is finite and its slope is not: infinity times the zero before it is NaN in the gradient alone."""
    trainer = learner(refused=tmp_path, lr=1e-2)
    trainer.step(uneven(), cross_entropy, 20)
    before, state = weights(trainer), trainer.optimizer.state_dict()["state"][0]["exp_avg"].clone()

    def bad(tokens: Tokens) -> Tensor:
        zero = tokens.logprobs.sum() * 0
        return zero * math.nan if broken == "loss" else zero.sqrt()

    with pytest.raises(StepRefused, match=r"step 2 was not taken: its loss is (nan|0\.0)") as refusal:
        trainer.step(uneven(), bad, 20)
    assert str(tmp_path / "step-2.json") in refusal.value.hint
    kept = json.loads((tmp_path / "step-2.json").read_text())
    assert kept["examples"][1]["ids"] == uneven()[1].ids and len(kept["examples"]) == 4
    assert all(map(torch.equal, weights(trainer), before)) and trainer.steps == 1
    assert torch.equal(trainer.optimizer.state_dict()["state"][0]["exp_avg"], state)
    again = trainer.step(uneven(), cross_entropy, 20)  # nothing of the refused gradient is left
    assert math.isfinite(again.gradient) and trainer.steps == 2


def test_a_refusal_is_said_also_where_its_batch_cannot_be_kept(tmp_path: Path) -> None:
    """A file stands where the folder belongs."""
    place = tmp_path / "refused"
    place.touch()
    trainer = learner(refused=place)
    with pytest.raises(StepRefused, match="step 1 was not taken: its loss is nan") as refusal:
        trainer.step(uneven(), lambda tokens: tokens.logprobs.sum() * math.nan, 20)
    assert f"The batch is lost (File exists): it could not be written to {place}" in refusal.value.hint


def test_a_refused_batch_is_not_written_through_a_link(tmp_path: Path) -> None:
    """The folder came from somebody else, with the name that the first refusal has."""
    theirs = tmp_path / "theirs"
    theirs.write_text("a file of the user")
    place = tmp_path / "refused"
    place.mkdir()
    (place / "step-1.json").symlink_to(theirs)
    with pytest.raises(StepRefused, match="step 1 was not taken"):
        learner(refused=place).step(uneven(), lambda tokens: tokens.logprobs.sum() * math.nan, 20)
    assert theirs.read_text() == "a file of the user"
    assert "loss" in (place / "step-1.json").read_text()


def test_a_loss_that_raises_leaves_nothing_behind() -> None:
    """It raises in the second of three rows; the next step is that of a trainer that never saw it."""
    trainer, fresh, rows = learner(budget=23), learner(budget=23), []

    def raising(tokens: Tokens) -> Tensor:
        rows.append(tokens)
        if len(rows) == 2:
            raise ValueError("a mask of another shape")
        return cross_entropy(tokens)

    with pytest.raises(ValueError, match="another shape"):
        trainer.step(uneven(), raising, 20)
    assert trainer.step(uneven(), cross_entropy, 20).gradient == fresh.step(uneven(), cross_entropy, 20).gradient
    assert all(map(torch.equal, weights(trainer), weights(fresh)))


def test_batches_that_cannot_be_trained_on_are_refused_by_name() -> None:
    trainer, good = learner(budget=30), uneven()
    strange = Example("attempt-7", [1, VOCABULARY, 2], [0, 1, 1])
    for examples, normaliser, why in (
        ([*good, strange], 5, f"attempt-7 has id {VOCABULARY}, the vocabulary ends at {VOCABULARY}"),
        ([replace(good[0], mask=[0] * 9)], 5, "no token of the batch is trained on"),
        ([good[0], good[0]], 5, "two examples of the batch have one name"),
        (good, 0, "normaliser must be above 0, not 0"),
        (uneven((257,)), 5, "example 0 has 257 tokens, the model's context ends at 256"),
        (uneven((32,)), 5, "32 tokens does not fit into a row of 30"),
    ):
        with pytest.raises(TrainError, match=why):
            trainer.step(examples, cross_entropy, normaliser)


def test_scores_are_those_of_the_examples_in_their_order() -> None:
    trainer, examples = learner(budget=30), uneven()
    scores = trainer.logprobs(examples)
    assert [len(values) for values in scores] == [9, 23, 5, 14]
    assert -sum(map(sum, scores)) == pytest.approx(trainer.total(examples, cross_entropy), rel=1e-5)
    assert all(
        bool(value) == bool(on)
        for e, s in zip(examples, scores, strict=True)
        for value, on in zip(s, e.mask, strict=True)
    )


def test_a_few_steps_learn_a_batch_by_heart() -> None:
    trainer, examples = learner(lr=1e-2), uneven()
    losses = [trainer.step(examples, cross_entropy, 20).loss for _ in range(25)]
    assert losses[-1] < losses[0] / 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"lr": math.inf}, {"lr": math.nan}, {"lr": -1.0}, {"clip": 0.0}, {"clip": -1.0}, {"clip": math.nan},
        {"weight_decay": -1.0}, {"weight_decay": math.nan}, {"betas": (0.9, 1.0)}, {"warmup": -1}, {"budget": 1},
        {"decay": 0}, {"warmup": 5, "decay": 5},
    ],
)  # fmt: skip
def test_options_that_no_step_can_have_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TrainError, match=r"at least|above 0|0 to 1|until a step after its warm-up"):
        StepOptions(**wrong)
