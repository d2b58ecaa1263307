"""What is kept of a layer between forward and backward, and what is computed again.

A checkpointed layer keeps its input and, by the rule here, what costs much time for its bytes. Of T tokens, an element
of a product's output stands for twice its inner width of operations, one of attention's output for 2 T on average, one
of a norm, a rotation or a gate for a few. So attention and the products around it (queries, keys, values, the output)
are kept; the products of the MLP, which are most of the bytes, and everything elementwise are computed again.
`docs/training.md` has the bytes and operations.
"""

from functools import partial
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

ATTENTION = {
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_cudnn_attention",
    "torch_attn::_varlen_attn",
}
PRODUCTS = {"aten::mm": 0, "aten::addmm": 1}
"""Operators, and the place of their first matrix; the second stands behind it."""


def forget_activations(model: Any, keep_attention: bool) -> None:
    """Let a Hugging Face model checkpoint its layers; with `keep_attention` as above, else their inputs are all that is
    kept."""
    how: dict[str, Any] = {"use_reentrant": False}
    if keep_attention:
        width = getattr(model.config.get_text_config(), "intermediate_size", None)
        policy = partial(_policy, width if isinstance(width, int) else 0)
        how["context_fn"] = partial(create_selective_checkpoint_contexts, policy)
    model.gradient_checkpointing_enable(how)


def _policy(width: int, context: Any, operator: Any, *arguments: Any, **named: Any) -> CheckpointPolicy:
    """`width`: the MLP's inner one, which its products have on one side; 0 where it is not known: none is kept."""
    name = operator.name().partition(".")[0]
    keep = name in ATTENTION or (name in PRODUCTS and _sides(arguments[PRODUCTS[name] :]) < width)
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE


def _sides(matrices: tuple[torch.Tensor, ...]) -> int:
    """The wider side of the weight."""
    return int(max(matrices[1].shape))
