"""Attention of packed sequences, as an attention function of transformers: it cannot cross a boundary, and sequences
that share a prompt (`prefix_sharing`) all see it.

On a CPU each sequence is a call of torch's fused causal attention. Without a mask, time and memory are those of the
sequences alone; a block-diagonal mask costs the square of the row. After a shared prompt, `BLOCK` queries at a time
have a mask of their own. On a GPU in half precision it is torch's variable-length flash attention, one call per row; in
float32 it works as on a CPU.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from selfplay.formatting import count
from selfplay.train.errors import TrainError
from selfplay.train.prefix_sharing import Layout

PACKED = "selfplay_packed"
"""Its name among the attention functions of transformers, which get no mask unless they register a mask function."""
BLOCK = 512
"""Queries that see a mask at once: it has as many rows."""
UNKNOWN = ("softcap", "s_aux", "position_bias")
"""Extra arguments of some models' attention. They are refused, not silently ignored."""


def packed_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    layout: tuple[Layout, ...] = (),
    scaling: float | None = None,
    dropout: float = 0.0,
    **others: Any,
) -> tuple[Tensor, None]:
    """`[1, heads, tokens, size]` -> `[1, tokens, heads, size]`; `layout`: the sequences in the row; without it the row
    is one sequence. Raises `TrainError` unless the attention is plain and causal."""
    layout = layout or (Layout(0, (query.shape[2],)),)
    _refuse(module, layout, dropout, others)
    if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16):
        return _varlen(query, key, value, layout, scaling), None
    groups, sizes = query.shape[1] // key.shape[1], [one.tokens for one in layout]
    parts = [query.split(sizes, dim=2)] + [_spread(part, groups).split(sizes, dim=2) for part in (key, value)]
    pieces = [piece for one, q, k, v in zip(layout, *parts, strict=True) for piece in _attended(one, q, k, v, scaling)]
    rows = [piece.transpose(1, 2) for piece in pieces]
    return (torch.cat(rows, dim=1) if len(rows) > 1 else rows[0]), None


def _spread(heads: Tensor, groups: int) -> Tensor:
    """Repeats each key or value head for every query head that reads it, as the fused CPU kernel needs."""
    return heads if groups == 1 else heads.repeat_interleave(groups, dim=1)


def _attended(layout: Layout, query: Tensor, key: Tensor, value: Tensor, scaling: float | None) -> Iterator[Tensor]:
    """What each stretch of the tokens attends to: shared ones to themselves, the rest of a sequence also to these."""
    first, *rest = (part.split((layout.shared, *layout.own), dim=2) for part in (query, key, value))
    for at, queries in enumerate(first):
        if at == 0 or layout.shared == 0:
            if queries.shape[2]:
                yield scaled_dot_product_attention(queries, *(part[at] for part in rest), is_causal=True, scale=scaling)
            continue
        keys, values = (torch.cat([part[0], part[at]], dim=2) for part in rest)
        for start in range(0, queries.shape[2], BLOCK):
            some = queries[:, :, start : start + BLOCK]
            seen = layout.shared + start + some.shape[2]
            mask = torch.ones(some.shape[2], seen, dtype=torch.bool, device=query.device).tril(layout.shared + start)
            yield scaled_dot_product_attention(
                some, keys[:, :, :seen], values[:, :, :seen], attn_mask=mask, scale=scaling
            )


def _varlen(query: Tensor, key: Tensor, value: Tensor, layout: tuple[Layout, ...], scaling: float | None) -> Tensor:
    """One call for the row: where queries are fewer than keys, their causal order ends at the last of both."""
    from torch.nn.attention.varlen import varlen_attn

    queries, keys, stretches = spans(layout)
    ends = [
        torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=query.device) for lengths in (queries, keys)
    ]
    q, k, v = (part[0].transpose(0, 1).contiguous() for part in (query, key, value))
    if len(stretches) > len(queries):  # slices, not an index: their gradients are summed in one order
        k, v = (torch.cat([part[start:end] for start, end in stretches]) for part in (k, v))
    gqa, causal = q.shape[1] != k.shape[1], (-1, 0)
    out = varlen_attn(q, k, v, *ends, max(queries), max(keys), scale=scaling, window_size=causal, enable_gqa=gqa)
    return out.unsqueeze(0)


def spans(layout: tuple[Layout, ...]) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """The queries and the keys of each stretch of a row, and where in the row the keys stand, one after the other, as
    (first, end): more of these than stretches where some see a shared prompt."""
    queries, keys, places, at = [], [], [], 0
    for shared, own in layout:
        prompt = (at, at + shared)
        for length, before in ((shared, 0), *((length, shared) for length in own)):
            if length:
                queries.append(length)
                keys.append(before + length)
                places += [prompt] * bool(before) + [(at, at + length)]
                at += length
    return queries, keys, places


def _refuse(module: Any, layout: tuple[Layout, ...], dropout: float, others: dict[str, Any]) -> None:
    window = others.get("sliding_window")
    strange = [name for name in UNKNOWN if others.get(name) is not None]
    if dropout:
        strange.append("dropout")
    if window and max(one.longest for one in layout) > window:
        strange.append(f"a window of {count(window, 'token')}")
    if not getattr(module, "is_causal", True):
        strange.append("no causal order")
    if strange:
        raise TrainError(
            f"{type(module).__name__} has attention with {', '.join(strange)}, which the packed one does not compute",
            "Train with attention=sdpa or eager: transformers then computes it, with a mask for the packed row.",
        )


AttentionInterface.register(PACKED, packed_attention)
