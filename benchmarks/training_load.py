"""What is trained on in `bench_train`, made alike for ours and for the peer: a model of random weights, and examples.

Standard library and transformers only: the peer's program reads it from its own environment. Times are those of the
last update; those before it warm up.
"""

import json
import random
import resource
import time
from pathlib import Path
from typing import Any

VOCABULARY, LENGTH = 49_152, 2048
SHAPE = {
    "vocab_size": VOCABULARY, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 8192, "rope_theta": 100_000.0,
    "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
}  # fmt: skip
"""SmolLM2-135M's."""


def make_model(folder: Path, seed: int = 0) -> None:
    """Random weights in float32, and a tokenizer of bytes: the peer's trainers want one, and do not use it."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(seed)
    LlamaForCausalLM(LlamaConfig(**SHAPE, dtype="float32")).save_pretrained(folder)
    words = {word: number for number, word in enumerate(["<pad>", "<eos>", *map(str, range(256))])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>").save_pretrained(folder)


def make_examples(kind: str, path: Path, seed: int = 0) -> None:
    """`grpo`: two rollouts of 2048 tokens, a prompt of 512, then answers of 128 between observations of 128. `sft`:
    conversations of 128 to 1024 tokens with answers of 40 between what is told, 4096 tokens in all; powers of two,
    which every packer packs without a gap."""
    draw = random.Random(seed)
    if kind == "grpo":
        lengths, prompt, turn = [LENGTH, LENGTH], 512, 128
    else:
        lengths, prompt, turn = [1024, 512, 512, 1024, 512, 256, 128, 128], 100, 40
    examples = [
        {
            "ids": [draw.randrange(2, VOCABULARY) for _ in range(length)],
            "mask": [int(at >= prompt and (at - prompt) // turn % 2 == 0) for at in range(length)],
            "prompt": prompt,
            "advantage": 1.0 if number % 2 else -1.0,
        }
        for number, length in enumerate(lengths)
    ]
    path.write_text(json.dumps(examples))


def figures(times: list[float], cores: list[float], examples: list[dict[str, Any]]) -> dict[str, float]:
    """Of the last update: seconds, core seconds, tokens; and the process's highest resident size in GB."""
    tokens = sum(len(example["ids"]) for example in examples)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": times[-1], "core_seconds": cores[-1], "tokens": tokens, "peak_gb": peak}


class Clock:
    """Wall and core seconds of each update."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.cores: list[float] = []
        self._began = (0.0, 0.0)

    def begin(self) -> None:
        self._began = (time.monotonic(), time.process_time())

    def end(self) -> None:
        self.times.append(time.monotonic() - self._began[0])
        self.cores.append(time.process_time() - self._began[1])
