"""Low-rank adapters (LoRA, Hu et al. 2021) through peft: W + (alpha / rank) B A, and only A and B are trained.

The model's own weights are frozen and never written to. For an engine they are merged once, when the model is saved;
the adapter is stored beside it in peft's format. There is no dropout: log-probabilities must match the engine's.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from selfplay.train.errors import TrainError

SAMPLED = 1024
NAME, PART, BASE = "default", ".lora_", ".base_layer."
"""peft's names: the adapter, the mark in its weights' names, and the mark in the base weights' names."""


@dataclass(frozen=True)
class LoraOptions:
    """`targets`: last parts of the names of linear modules. `alpha`: the sum is scaled by alpha / rank; 0: twice the
    rank."""

    rank: int = 16
    alpha: float = 0.0
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")

    @property
    def scale(self) -> float:
        return (self.alpha or 2.0 * self.rank) / self.rank


def add_adapters(model: Any, options: LoraOptions) -> None:
    """Add adapters to a Hugging Face model in place. B is 0, so its outputs stay the same. A is equal in every process.
    Raises `TrainError` for a model without the named modules, or if peft is not installed."""
    _check_targets(model, options)
    try:
        from peft import inject_adapter_in_model
    except ImportError as error:
        raise TrainError("LoRA needs peft, which is not installed", "pip install 'selfplay-swe[train]'") from error
    with torch.random.fork_rng():
        torch.manual_seed(0)
        inject_adapter_in_model(_config(options), model, NAME)


def _config(options: LoraOptions, base: str | None = None) -> Any:
    from peft import LoraConfig

    return LoraConfig(
        r=options.rank, lora_alpha=options.scale * options.rank, target_modules=list(options.targets), lora_dropout=0.0,
        task_type="CAUSAL_LM", base_model_name_or_path=base,
    )  # fmt: skip


def _check_targets(model: Any, options: LoraOptions) -> None:
    if options.rank < 1:
        raise TrainError(f"the rank of LoRA must be at least 1, not {options.rank}")
    head = model.get_output_embeddings()  # applied by `logprobs`, to its weight alone
    linear = {name for name, part in model.named_modules() if isinstance(part, nn.Linear) and part is not head}
    names = sorted({name.rpartition(".")[2] for name in linear})
    missing = [target for target in options.targets if target not in names]
    if missing or not options.targets:
        raise TrainError(
            f"{type(model).__name__} has no linear module named {', '.join(missing) or 'nothing'} for LoRA",
            f"Its linear modules are named {', '.join(names)}." if names else "It has no linear module at all.",
        )


def frozen_digest(model: Any) -> str:
    """Identifies the weights under the adapters by at most `SAMPLED` values of each, which any fine-tuning changes.
    Only before the model is sharded."""
    found = hashlib.sha256()
    for name, value in sorted(model.named_parameters()):
        if not value.requires_grad:
            flat = value.detach().flatten()
            found.update(name.encode() + flat[:: -(-flat.numel() // SAMPLED)].cpu().numpy().tobytes())
    return found.hexdigest()


def merged(name: str, value: Tensor, adapters: Mapping[str, Tensor], options: LoraOptions | None) -> Tensor:
    """A weight for an engine: a copy with its adapter's product added. `adapters`: all their weights."""
    stem = name.removesuffix(f"{BASE}weight")
    if options is None or stem == name:
        return value
    down, up = (adapters[f"{stem}{PART}{side}.{NAME}.weight"].to(value.device) for side in "AB")
    return value + options.scale * (up @ down)


def plain(name: str) -> str:
    """A weight's name in a model without adapters."""
    return name.replace(BASE, ".")


def save_adapter(adapters: Mapping[str, Tensor], options: LoraOptions, folder: Path, source: str) -> None:
    """Write the adapter alone, as peft reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {f"base_model.model.{name.replace(f'.{NAME}.', '.')}": value for name, value in adapters.items()}
    save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    _config(options, source).save_pretrained(folder)
