"""Exports a model's weights: one after another for engines, or as a Hugging Face folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.distributed.tensor import DTensor
from transformers import AutoConfig, AutoTokenizer

from selfplay.artifact.hub_models import model_folder
from selfplay.artifact.model_folders import load_model
from selfplay.artifact.reading import UntrustedDataError
from selfplay.artifact.written_folders import refuse_strange_below
from selfplay.train import lora
from selfplay.train.model import Precision, Scorer, first_rank

ADAPTER = "adapter"
"""The folder of adapters beside a model."""


def save_model(scorer: Scorer, folder: Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """Write the weights, with adapters added, as a Hugging Face folder; every rank calls it, the first one writes."""
    first = first_rank()
    weights = {name: value.cpu() for name, value in engine_weights(scorer, dtype) if first}
    if not first:
        return
    scorer.model.save_pretrained(folder, state_dict=weights)
    config = load_model(AutoConfig.from_pretrained, folder)
    config.dtype = dtype  # engines load with this dtype; it would be the masters'
    config.save_pretrained(folder)


def engine_weights(scorer: Scorer, dtype: torch.dtype) -> Iterator[tuple[str, Tensor]]:
    """The weights for an engine, one after another: name and whole tensor, with adapters added. Every rank must iterate
    over all."""
    adapters, options = adapter(scorer), scorer.options.lora
    for name, value in _stored(scorer).items():
        if name not in adapters:
            yield lora.plain(name), lora.merged(name, _whole(value), adapters, options).to(dtype)


def engine_shapes(scorer: Scorer) -> dict[str, tuple[int, ...]]:
    """Name -> shape of what `engine_weights` gives, without giving it."""
    return {lora.plain(name): tuple(value.shape) for name, value in _stored(scorer).items() if lora.PART not in name}


def _stored(scorer: Scorer) -> dict[str, Tensor]:
    """Parameters and buffers, each once: a tied head is the embedding."""
    once = {name for named in (scorer.model.named_parameters(), scorer.model.named_buffers()) for name, _ in named}
    return {name: value for name, value in scorer.model.state_dict().items() if name in once}


def adapter(scorer: Scorer) -> dict[str, Tensor]:
    """The adapters' whole weights in float32; empty without LoRA. Every rank calls it."""
    found = scorer.model.state_dict().items()
    return {name: _whole(value).cpu() for name, value in found if lora.PART in name}


def write_model(scorer: Scorer, folder: Path, source: str | Path, dtype: torch.dtype = torch.bfloat16) -> None:
    """`save_model`, with the tokenizer of `source`: what `--policy transformers:FOLDER` opens; adapters once more in
    `adapter/`. The settings are written last, so that a half-written folder does not count as a model. Raises
    `OSError`."""
    try:
        refuse_strange_below(folder)
    except UntrustedDataError as error:
        raise OSError(error.message) from error
    made, first = folder / ".new-model", first_rank()
    adapters = adapter(scorer)
    try:
        save_model(scorer, made, dtype)
        if first and scorer.options.lora is not None:
            lora.save_adapter(adapters, scorer.options.lora, folder / ADAPTER, str(source))
    except SafetensorError as error:
        raise OSError(str(error)) from error
    if first:
        load_model(AutoTokenizer.from_pretrained, model_folder(source, weights=False)).save_pretrained(made)
        for path in sorted(made.iterdir(), key=lambda path: path.name == "config.json"):
            shutil.rmtree(folder / path.name, ignore_errors=True)  # a folder, of a model that was written before
            path.replace(folder / path.name)
        made.rmdir()


def written_dtype(source: str | Path, precision: Precision) -> torch.dtype:
    """The dtype to write a trained model in: float32 if it was computed so, since bf16 would lose small updates; else
    its source's dtype."""
    if precision == "fp32":
        return torch.float32
    own = load_model(AutoConfig.from_pretrained, model_folder(source, weights=False)).dtype
    return getattr(torch, str(own or torch.bfloat16).removeprefix("torch."))


def _whole(value: Tensor) -> Tensor:
    return value.full_tensor() if isinstance(value, DTensor) else value
