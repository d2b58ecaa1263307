"""A checkpoint of a model that has the same shapes and computes otherwise is refused."""

import json
from pathlib import Path

import pytest
from tiny_models import tiny_llama, uneven
from train_ranks import policy_gradient

from selfplay.train import checkpoint
from selfplay.train.errors import TrainError
from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.step import StepOptions, Trainer


def learner(seed: int = 0, lora: LoraOptions | None = None, theta: float = 1e4, **options: float) -> Trainer:
    model = tiny_llama(seed)
    model.config.rope_parameters = {"rope_type": "default", "rope_theta": theta}
    scorer = scorer_of(model, ModelOptions(precision="fp32", checkpointing=False, lora=lora))
    return Trainer(scorer, StepOptions(lr=1e-2, **options))


def saved(trainer: Trainer, folder: Path) -> Path:
    trainer.step(uneven(), policy_gradient, 25)
    return checkpoint.save(trainer, folder, {})


def test_another_base_of_the_rotation(tmp_path: Path) -> None:
    saved(learner(), tmp_path)
    with pytest.raises(TrainError, match=r"of another model: rope_parameters is .*10000.0.* there and .*5.0.* here"):
        checkpoint.resume(learner(theta=5.0), tmp_path)
    assert checkpoint.resume(learner(seed=3), tmp_path) == {}  # other weights are overwritten


def test_adapters_of_another_scale_or_on_other_weights(tmp_path: Path) -> None:
    saved(learner(lora=LoraOptions(4, alpha=8)), tmp_path)
    with pytest.raises(TrainError, match=r"lora is .*2.0.* there and .*16.0.* here"):
        checkpoint.resume(learner(lora=LoraOptions(4, alpha=64)), tmp_path)
    with pytest.raises(TrainError, match="adapters on other weights"):
        checkpoint.resume(learner(seed=9, lora=LoraOptions(4)), tmp_path)
    assert checkpoint.resume(learner(lora=LoraOptions(4)), tmp_path) == {}  # alpha 0 is twice the rank: 8


def test_a_checkpoint_of_an_earlier_version_loads(tmp_path: Path) -> None:
    path = saved(learner(), tmp_path)
    about = json.loads((path / checkpoint.ABOUT).read_text())
    early = {name: value for name, value in about.items() if name not in ("config", "lora", "frozen")}
    (path / checkpoint.ABOUT).write_text(json.dumps(early))
    assert checkpoint.resume(learner(theta=5.0), tmp_path) == {}


def test_the_options_of_a_resumed_run_are_the_caller_s(tmp_path: Path) -> None:
    saved(learner(weight_decay=0.1), tmp_path)
    again = learner(weight_decay=0.3)
    checkpoint.resume(again, tmp_path)
    assert [group["weight_decay"] for group in again.optimizer.param_groups] == [0.3]
    assert again.optimizer.param_groups[0]["betas"] == (0.9, 0.95)
