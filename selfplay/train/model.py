"""A Hugging Face causal model as one module that scores rows: log-probability and entropy of given tokens.

Weights are kept in float32. With bf16 compute they are cast when used: by autocast in one process, and by FSDP2's mixed
precision with several ranks. Only the positions before trained tokens reach the output head.
"""

import copy
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd.graph import save_on_cpu
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from transformers import AutoModelForCausalLM

from selfplay.artifact.hub_models import model_folder
from selfplay.artifact.model_folders import load_model, refuse_no_model
from selfplay.train import lora
from selfplay.train.activations import forget_activations
from selfplay.train.attention import PACKED
from selfplay.train.checks import check_head, check_packing
from selfplay.train.errors import TrainError
from selfplay.train.logprobs import CHUNK, token_logprobs
from selfplay.train.lora import LoraOptions
from selfplay.train.memory import map_large_blocks
from selfplay.train.rows import PackedRow

Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class ModelOptions:
    """`attention`: `packed`, or a name transformers knows (`sdpa`, `eager`, `flash_attention_2`), which masks a packed
    row by its positions. `checkpointing`: recompute activations inside layers, except attention's with
    `keep_attention`. `offload`: kept layer inputs wait for backward in main memory. `chunk`: tokens whose logits exist
    at once. `lora`: train adapters alone."""

    precision: Precision = "bf16"
    attention: str = "packed"
    checkpointing: bool = True
    keep_attention: bool = True
    offload: bool = False
    chunk: int = CHUNK
    lora: LoraOptions | None = None


class Scorer(nn.Module):
    """A causal model and how it is run. Its parameters are named `model....`, as in Hugging Face. `frozen`: a
    digest of the weights under its adapters, empty without any."""

    def __init__(self, model: Any, options: ModelOptions) -> None:
        super().__init__()
        self.model, self.options = model, options
        self.vocabulary: int = model.get_input_embeddings().num_embeddings
        self.context: int = getattr(model.config.get_text_config(), "max_position_embeddings", sys.maxsize)
        self.frozen = lora.frozen_digest(model) if options.lora is not None else ""
        self.device = next(model.parameters()).device
        if options.checkpointing:
            forget_activations(model, options.keep_attention)
        _drop_nothing(model.train())

    def forward(self, row: PackedRow) -> tuple[Tensor, Tensor]:
        """(log-probabilities, entropies) in float32, `[tokens]`; 0 outside the mask."""
        places = row.mask.nonzero().squeeze(1)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._casts):
            hidden = self.hidden(row)[places - 1]
        head = self.model.get_output_embeddings()
        weight, bias = head.weight, head.bias
        if self.options.precision == "bf16":
            hidden, weight = hidden.bfloat16(), weight.bfloat16()
        found = token_logprobs(hidden, weight, row.ids[places], bias, chunk=self.options.chunk)
        logprobs, entropies = (values.new_zeros(len(row.ids)).index_copy(0, places, values) for values in found)
        return logprobs, entropies

    @property
    def shares(self) -> bool:
        """Whether sequences of a row may share a prompt: attentions other than ours mask a row by positions."""
        return self.options.attention == "packed"

    @property
    def _casts(self) -> bool:
        """Whether autocast does the casting: FSDP does it where it shards."""
        return self.options.precision == "bf16" and not sharded()

    def hidden(self, row: PackedRow) -> Tensor:
        """The last hidden states, `[tokens, size]`."""
        layout = {"layout": row.layout} if self.shares else {}
        where = save_on_cpu(pin_memory=self.device.type == "cuda") if self.options.offload else nullcontext()
        with where:
            out = self.model.base_model(
                input_ids=row.ids[None], position_ids=row.positions[None], use_cache=False, **layout
            )
        hidden: Tensor = out.last_hidden_state[0]
        return hidden


def _drop_nothing(model: nn.Module) -> None:
    """Turn dropout off: log-probabilities must match the engine's."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout_p"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)


def sharded() -> bool:
    """Whether more than one rank trains."""
    return bool(dist.is_initialized()) and dist.get_world_size() > 1


def first_rank() -> bool:
    """Whether this process is the first or only rank, which writes files."""
    return not (dist.is_initialized() and dist.get_rank())


def load_scorer(path: str | Path, options: ModelOptions = ModelOptions()) -> Scorer:
    """Load a model in float32, check that it can be trained here, and shard it where there is more than one rank.

    Raises `TrainError`."""
    return scorer_of(_loaded(path, options), options)


def load_scorers(path: str | Path, options: ModelOptions, count: int) -> list[Scorer]:
    """Several scorers of one model in one process: each has its own adapters, and all share the frozen weights. Raises
    `TrainError`."""
    if options.lora is None or sharded():
        raise TrainError("several policies need adapters (LoRA) in one process, where they share their weights")
    model = _loaded(path, options)
    weights = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    others = [copy.deepcopy(model, dict(weights)) for _ in range(count - 1)]
    return [scorer_of(one, options) for one in (model, *others)]


def _loaded(path: str | Path, options: ModelOptions) -> Any:
    how = PACKED if options.attention == "packed" else options.attention
    if not torch.cuda.is_available():
        map_large_blocks()
    try:
        folder = model_folder(path, weights=True)
        refuse_no_model(folder)
        load = AutoModelForCausalLM.from_pretrained
        return load_model(load, folder, dtype=torch.float32, attn_implementation=how)
    except Exception as error:  # a folder of others makes the library raise anything
        raise TrainError(
            f"{path} cannot be loaded: {str(error)[:400]}", "Name the folder of a causal model."
        ) from error


def scorer_of(model: Any, options: ModelOptions = ModelOptions()) -> Scorer:
    """A loaded model as a `Scorer`; sets its attention. Raises `TrainError`."""
    model.set_attn_implementation(PACKED if options.attention == "packed" else options.attention)
    for name, parameter in model.named_parameters():
        if parameter.dtype != torch.float32:
            raise TrainError(f"{name} is in {parameter.dtype}; masters are kept in float32", "Load it with that dtype.")
    if options.lora is not None:
        lora.add_adapters(model, options.lora)
    device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
    scorer = Scorer(model.to(device), options)
    check_head(scorer)
    check_packing(scorer)
    if sharded():
        _shard(scorer)
    return scorer


def _shard(scorer: Scorer) -> None:
    """FSDP2: one group for each layer, and one for the rest. Gradients are summed over ranks, not averaged: a loss is
    divided by a normaliser of the whole batch."""
    half = torch.bfloat16 if scorer.options.precision == "bf16" else None
    policy = MixedPrecisionPolicy(param_dtype=half, reduce_dtype=torch.float32)
    names = set(scorer.model._no_split_modules or ())
    layers = [module for module in scorer.modules() if type(module).__name__ in names]
    if not layers:
        raise TrainError(f"{type(scorer.model).__name__} does not name its layers, so it cannot be sharded")
    for layer in layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(scorer, mp_policy=policy)
    for module in scorer.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)  # gloo knows no product with a factor
