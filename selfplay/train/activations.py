"""What is kept of a layer between forward and backward, and what is computed again.

A checkpointed layer keeps its input and, by the rule here, attention's output, since that costs the most time for its
bytes. Of T tokens, an element of attention's output stands for 2 T operations on average, one of a product's output
for twice its inner width, one of a norm, a rotation or a gate for a few. So everything but attention is computed again.
Keeping the products around it (queries, keys, values, the output), too, saved 3 % of the time for 15 % of the memory.
`docs/training.md` has the bytes and operations.
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
"""The operators that compute it."""


def forget_activations(model: Any, keep_attention: bool) -> None:
    """Let a Hugging Face model checkpoint its layers; with `keep_attention` as above, else their inputs are all that is
    kept."""
    how: dict[str, Any] = {"use_reentrant": False}
    if keep_attention:
        how["context_fn"] = partial(create_selective_checkpoint_contexts, _policy)
    model.gradient_checkpointing_enable(how)


def _policy(context: Any, operator: Any, *arguments: Any, **named: Any) -> CheckpointPolicy:
    name = operator.name().partition(".")[0]
    return CheckpointPolicy.MUST_SAVE if name in ATTENTION else CheckpointPolicy.PREFER_RECOMPUTE
