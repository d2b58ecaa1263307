"""A tiny random model of Llama's shape, and examples of uneven lengths."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from selfplay.train.packing import Example

VOCABULARY = 97


def tiny_llama(seed: int = 0, *, tied: bool = True, layers: int = 2) -> LlamaForCausalLM:
    """20k parameters, with grouped heads."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=tied,
    )
    return LlamaForCausalLM(config).float()


def uneven(lengths: tuple[int, ...] = (9, 23, 5, 14), seed: int = 1) -> list[Example]:
    """Random examples; every other token is trained on, the first three are the prompt."""
    torch.manual_seed(seed)
    return [
        Example(
            f"example {number}",
            torch.randint(VOCABULARY, (length,)).tolist(),
            [int(at > 2 and at % 2) for at in range(length)],
            {"advantages": torch.randn(length).tolist()},
        )
        for number, length in enumerate(lengths)
    ]
