"""What only a GPU can show: the trainer there computes what it computes on a processor, in the memory of the plan."""

import json
from pathlib import Path

import pytest
import torch
from tiny_models import VOCABULARY, tiny_llama

from selfplay.loop.config import TrainConfig
from selfplay.loop.planning.assumptions import assumed
from selfplay.loop.planning.memory import trainer_memory
from selfplay.loop.planning.shapes import shape_of
from selfplay.train.model import ModelOptions, load_scorer, scorer_of
from selfplay.train.packing import Example
from selfplay.train.sft_loop import cross_entropy
from selfplay.train.step import StepOptions, Trainer

pytestmark = pytest.mark.gpu


def example(length: int, vocabulary: int) -> Example:
    ids = torch.randint(vocabulary, (length,), generator=torch.Generator().manual_seed(1)).tolist()
    return Example("one", ids, [0] + [1] * (length - 1))


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 5e-2)])
def test_log_probabilities_are_those_of_the_processor(precision: str, tolerance: float) -> None:
    one = example(40, VOCABULARY)
    options = ModelOptions(precision="bf16" if precision == "bf16" else "fp32")
    (found,) = Trainer(scorer_of(tiny_llama(), options), StepOptions()).logprobs([one])
    ids = torch.tensor(one.ids)
    logits = tiny_llama()(input_ids=ids[None]).logits[0, :-1]
    wanted = logits.log_softmax(-1).gather(1, ids[1:, None]).squeeze(1)
    torch.testing.assert_close(torch.tensor([*found])[1:], wanted.detach(), atol=tolerance, rtol=0)


def test_a_step_takes_the_memory_that_the_plan_says(smollm2: Path) -> None:
    """A row of 8,192 tokens, twice: Adam's moments exist after the first. The process itself is not in PyTorch's
    count."""
    config = TrainConfig.model_validate({
        "source": "none", "model": str(smollm2), "play": {"context": 8192}, "recipe": {"budget": 8192},
        "machine": {"gpu": "h100"},
    })  # fmt: skip
    plan = trainer_memory(config, shape_of(json.loads((smollm2 / "config.json").read_text()), "smollm2"), assumed({}))
    trainer, one = Trainer(load_scorer(smollm2, ModelOptions()), StepOptions(budget=8192)), example(8192, 49_152)
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        trainer.step([one], cross_entropy, one.trained)
    planned = plan.total - plan.parts["framework"]
    assert torch.cuda.max_memory_allocated() == pytest.approx(planned, rel=0.25)
