"""What is kept of a layer between forward and backward, and what is recomputed.

A checkpointed layer keeps its input and attention's output, which costs the most time per byte to recompute: with T
tokens, an element of attention's output takes 2 T operations on average, an element of a product twice its inner width,
and one of a norm, rotation or gate only a few. Everything else is recomputed. Keeping the products around attention
(queries, keys, values, the output) as well saved 3 % of the time for 15 % of the memory. `docs/training.md` has the
bytes and operations.
"""

from functools import partial
from typing import Any

from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

ATTENTION = {
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_cudnn_attention",
    "torch_attn::_varlen_attn",
}
"""The operators that compute attention."""


def forget_activations(model: Any, keep_attention: bool) -> None:
    """Make a Hugging Face model checkpoint its layers: keep inputs, and with `keep_attention` also attention's
    outputs."""
    how: dict[str, Any] = {"use_reentrant": False}
    if keep_attention:
        how["context_fn"] = partial(create_selective_checkpoint_contexts, _policy)
    model.gradient_checkpointing_enable(how)


def _policy(context: Any, operator: Any, *arguments: Any, **named: Any) -> CheckpointPolicy:
    name = operator.name().partition(".")[0]
    return CheckpointPolicy.MUST_SAVE if name in ATTENTION else CheckpointPolicy.PREFER_RECOMPUTE
