"""Attention of packed sequences, as an attention function of transformers: it cannot cross a boundary.

On a CPU each sequence is a call of torch's fused causal attention. Without a mask, time and memory are those of the
sequences alone; a block-diagonal mask costs the square of the row. On a GPU in half precision it is torch's
variable-length flash attention, one call per row; in float32 it works as on a CPU.
"""

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from selfplay.formatting import count
from selfplay.train.errors import TrainError

PACKED = "selfplay_packed"
"""Its name among the attention functions of transformers, which get no mask unless they register a mask function."""
UNKNOWN = ("softcap", "s_aux", "position_bias")
"""Extra arguments of some models' attention. They are refused, not silently ignored."""


def packed_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    lengths: tuple[int, ...] = (),
    scaling: float | None = None,
    dropout: float = 0.0,
    **others: Any,
) -> tuple[Tensor, None]:
    """`[1, heads, tokens, size]` -> `[1, tokens, heads, size]`; `lengths`: tokens of each sequence in the row; without
    them the row is one sequence. Raises `TrainError` unless the attention is plain and causal."""
    lengths = lengths or (query.shape[2],)
    _refuse(module, lengths, dropout, others)
    if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16):
        return _varlen(query, key, value, lengths, scaling), None
    groups = query.shape[1] // key.shape[1]
    pieces = [
        scaled_dot_product_attention(q, _spread(k, groups), _spread(v, groups), is_causal=True, scale=scaling)
        for q, k, v in zip(*(part.split(lengths, dim=2) for part in (query, key, value)), strict=True)
    ]
    rows = [piece.transpose(1, 2) for piece in pieces]
    return (torch.cat(rows, dim=1) if len(rows) > 1 else rows[0]), None


def _spread(heads: Tensor, groups: int) -> Tensor:
    """Repeats each key or value head for every query head that reads it, as the fused CPU kernel needs."""
    return heads if groups == 1 else heads.repeat_interleave(groups, dim=1)


def _varlen(query: Tensor, key: Tensor, value: Tensor, lengths: tuple[int, ...], scaling: float | None) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    ends = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=query.device)
    q, k, v = (part[0].transpose(0, 1).contiguous() for part in (query, key, value))
    longest, causal = max(lengths), (-1, 0)
    gqa = q.shape[1] != k.shape[1]
    out = varlen_attn(q, k, v, ends, ends, longest, longest, scale=scaling, window_size=causal, enable_gqa=gqa)
    return out.unsqueeze(0)


def _refuse(module: Any, lengths: tuple[int, ...], dropout: float, others: dict[str, Any]) -> None:
    window = others.get("sliding_window")
    strange = [name for name in UNKNOWN if others.get(name) is not None]
    if dropout:
        strange.append("dropout")
    if window and max(lengths) > window:
        strange.append(f"a window of {count(window, 'token')}")
    if not getattr(module, "is_causal", True):
        strange.append("no causal order")
    if strange:
        raise TrainError(
            f"{type(module).__name__} has attention with {', '.join(strange)}, which the packed one does not compute",
            "Train with attention=sdpa or eager: transformers then computes it, with a mask for the packed row.",
        )


AttentionInterface.register(PACKED, packed_attention)
