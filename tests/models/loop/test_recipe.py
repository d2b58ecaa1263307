"""What a recipe says of the step holds in a training run: adapters are trained, merged for the engine and resumed; the
learning rate is warmed up over the run's updates, also over a kill."""

from pathlib import Path
from typing import Any

import pytest
from played_episodes import attempt, taped
from safetensors.torch import load_file

from selfplay.commands.training.update import Learner
from selfplay.loop.config import TrainConfig
from selfplay.update.batch.crediting import credited
from selfplay.update.recipe import Recipe

BATCH = [
    taped(attempt("s1", "resolved"), range(12), (4,), [-0.5] * 12),
    taped(attempt("s2"), range(20), (4, 6), [-0.5] * 20),
]


def learner(tiny: Path, out: Path, **recipe: Any) -> Learner:
    settings = {"lr": 1e-2, "precision": "fp32", "budget": 64, "normalisation": "tokens", **recipe}
    play = {"context": 64}
    return Learner(
        TrainConfig.model_validate({"source": "a", "model": str(tiny), "play": play, "recipe": settings}), out
    )


@pytest.mark.slow
def test_adapters_are_merged_for_the_engine_and_resumed(tiny: Path, tmp_path: Path) -> None:
    """The engine's folder has the model's own names and shapes; only weights with adapters have changed."""
    rollouts = credited(BATCH, Recipe())
    first = learner(tiny, tmp_path, lora_rank=2)
    first.learn(rollouts, 0)
    folder = first.write()
    assert folder is not None and (folder / "adapter" / "adapter_model.safetensors").is_file()
    before, after = load_file(tiny / "model.safetensors"), load_file(folder / "model.safetensors")
    assert {name: value.shape for name, value in before.items()} == {name: value.shape for name, value in after.items()}
    changed = {name for name in before if not before[name].float().equal(after[name].float())}
    assert changed and all(name.endswith("_proj.weight") for name in changed)
    again = learner(tiny, tmp_path, lora_rank=2)
    assert again.version == 1 and again.learn(rollouts, 0)["step"]["step"] == 1, "it is not taken again"
    assert again.learn(rollouts, 1)["step"]["step"] == 2


@pytest.mark.slow
def test_the_learning_rate_is_warmed_up_over_a_kill(tiny: Path, tmp_path: Path) -> None:
    """Over four updates to 1e-2: 0.25e-2, 0.5e-2, then in another process 0.75e-2."""
    rollouts = credited(BATCH, Recipe())
    first = learner(tiny, tmp_path, warmup=4)
    rates = [first.learn(rollouts, step)["step"]["lr"] for step in range(2)]
    rates.append(learner(tiny, tmp_path, warmup=4).learn(rollouts, 2)["step"]["lr"])
    assert rates == pytest.approx([0.0025, 0.005, 0.0075])
