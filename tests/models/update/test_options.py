"""What a recipe says of the step reaches the trainer."""

from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions
from selfplay.train.step import StepOptions
from selfplay.update.recipe import Recipe
from selfplay.update.step.one_update import model_options, step_options


def test_the_defaults_are_the_trainer_s() -> None:
    assert step_options(Recipe()) == StepOptions() and model_options(Recipe()) == ModelOptions()


def test_every_choice_of_the_step_arrives() -> None:
    recipe = Recipe(lr=3e-6, warmup=30, lora_rank=8, lora_alpha=4.0, keep_attention=False, precision="fp32")
    step, model = step_options(recipe), model_options(recipe)
    assert (step.lr, step.warmup) == (3e-6, 30)
    assert model.lora == LoraOptions(rank=8, alpha=4.0) and model.lora.scale == 0.5
    assert (model.keep_attention, model.checkpointing, model.precision) == (False, True, "fp32")
    assert not model_options(Recipe(keep_activations=True)).checkpointing
    assert model_options(Recipe(offload=True, keep_attention=False)).offload
