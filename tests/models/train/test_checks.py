"""A model whose packed sequences depend on each other is refused when it is loaded."""

from typing import Any

import pytest
import torch
import transformers
from tiny_models import tiny_llama
from transformers import AutoModelForCausalLM

from selfplay.train.errors import TrainError
from selfplay.train.lora import LoraOptions
from selfplay.train.model import ModelOptions, scorer_of

FP32 = ModelOptions(precision="fp32", checkpointing=False)
SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
LINEAR = {
    "head_dim": 8, "layer_types": ["linear_attention", "full_attention"], "linear_num_value_heads": 4,
    "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
}  # fmt: skip
LEAKING: dict[str, dict[str, Any]] = {
    "Lfm2": {**SIZES, "layer_types": ["conv", "full_attention"]},  # a convolution over three tokens
    "Qwen3Next": {**SIZES, **LINEAR, "num_experts": 0, "mlp_only_layers": [0, 1]},  # a recurrent state
    "Mamba2": {
        "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "num_heads": 8, "head_dim": 8,
        "n_groups": 1, "expand": 2,
    },
    "Bloom": {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4},  # ALiBi, with a mask of its own
}  # fmt: skip


def model_of(kind: str) -> Any:
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**LEAKING[kind])
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32)


@pytest.mark.parametrize("kind", LEAKING)
def test_a_model_whose_layers_run_on_over_a_boundary_is_refused_by_name(kind: str) -> None:
    """Random weights of transformers' own small scale: log-probabilities differ by 1e-4 or less, hidden states more."""
    with pytest.raises(TrainError, match=f"{kind}ForCausalLM cannot be packed"):
        scorer_of(model_of(kind), FP32)


def test_adapters_hide_no_leak() -> None:
    adapters = ModelOptions(precision="fp32", checkpointing=False, lora=LoraOptions(4, targets=("q_proj",)))
    with pytest.raises(TrainError, match="Lfm2ForCausalLM cannot be packed"):
        scorer_of(model_of("Lfm2"), adapters)


@pytest.mark.parametrize("attention", ["packed", "sdpa", "eager"])
def test_a_model_of_attention_alone_passes_however_its_attention_is_computed(attention: str) -> None:
    for adapters in (None, LoraOptions(4)):
        scorer_of(tiny_llama(), ModelOptions(precision="fp32", attention=attention, lora=adapters))
