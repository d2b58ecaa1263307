"""Log-probability and entropy of given tokens, from hidden states and the output head, in chunks of tokens.

The logits of a whole batch never exist: 16k tokens of a 150k vocabulary would take 9.8 GB in float32, several times.
Forward keeps two numbers per token; backward recomputes a chunk's logits, which costs one more product with the head.
With z the logits, p their softmax and H the entropy of p:

    d log p_t / d z_j = [j = t] - p_j          d H / d z_j = -p_j (log p_j + H)

Logits and gradients of the head are summed in float32 whatever the precision of the hidden states.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK = 128
"""Tokens per chunk: with a vocabulary of 150k their logits take 77 MB."""


def token_logprobs(
    hidden: Tensor, head: Tensor, targets: Tensor, bias: Tensor | None = None, *, chunk: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """(log-probabilities, entropies) in float32, `[tokens]`. `hidden`: `[tokens, size]`, each state the one *before*
    its target; `head`: `[vocabulary, size]`; `targets`: ids, `[tokens]`. Both have gradients."""
    found: tuple[Tensor, Tensor] = _TokenLogprobs.apply(hidden, head, targets, bias, chunk)
    return found


class _TokenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, head: Tensor, targets: Tensor, bias: Tensor | None, chunk: int
    ) -> tuple[Tensor, Tensor]:
        found, (first, second) = [], _buffers(hidden, head, chunk)
        for states, wanted in zip(hidden.split(chunk), targets.split(chunk), strict=True):
            logits = _logits(states, head, bias, first)
            most = logits.amax(-1, keepdim=True)
            weights = torch.exp(logits.sub_(most), out=second[: len(states)])
            total = weights.sum(-1)
            logprob = logits.gather(1, wanted[:, None]).squeeze(1) - total.log()
            entropy = total.log() - weights.mul_(logits).sum(-1) / total  # log sum w - sum w log w / sum w
            found.append((logprob, most.squeeze(1) + total.log(), entropy))
        logprobs, normalisers, entropies = (torch.cat(parts) for parts in zip(*found, strict=True))
        ctx.save_for_backward(hidden, head, targets, bias, normalisers, entropies)
        ctx.chunk = chunk
        ctx.set_materialize_grads(False)
        return logprobs, entropies

    @staticmethod
    def backward(ctx: Any, of_logprobs: Tensor | None, of_entropies: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, head, targets, bias, normalisers, entropies = ctx.saved_tensors
        wide = _wide(head)
        to_hidden = torch.empty_like(hidden)
        to_head = torch.zeros_like(head, dtype=wide) if ctx.needs_input_grad[1] else None
        to_bias = None if bias is None else torch.zeros_like(bias, dtype=wide)
        of_logprobs = torch.zeros_like(normalisers) if of_logprobs is None else of_logprobs
        first, second = _buffers(hidden, head, ctx.chunk)
        for at in range(0, len(targets), ctx.chunk):
            part = slice(at, at + ctx.chunk)
            states = hidden[part]
            slope = _slope(
                _logits(states, head, bias, first).sub_(normalisers[part, None]),
                second[: len(states)],
                targets[part],
                of_logprobs[part, None],
                None if of_entropies is None else of_entropies[part, None],
                entropies[part, None],
            )
            narrow = slope.to(hidden.dtype)
            to_hidden[part] = narrow @ head
            if to_head is not None:
                _add_product(to_head, narrow, states)
            if to_bias is not None:
                to_bias += slope.sum(0)
        given = (None if to is None else to.to(part.dtype) for to, part in ((to_head, head), (to_bias, bias)))
        return to_hidden, next(given), None, next(given), None


def _slope(
    logs: Tensor, spare: Tensor, wanted: Tensor, of_logprob: Tensor, of_entropy: Tensor | None, entropy: Tensor
) -> Tensor:
    """The gradient with respect to the logits, from the log-probabilities `logs`; these and `spare` are overwritten."""
    if of_entropy is None:
        chances = logs.exp_().mul_(-of_logprob)
    else:  # -p (g + e (log p + H))
        chances = torch.exp(logs, out=spare)
        chances.mul_(logs.add_(entropy).mul_(of_entropy).add_(of_logprob)).neg_()
    return chances.scatter_add_(1, wanted[:, None], of_logprob)


def _buffers(hidden: Tensor, head: Tensor, chunk: int) -> tuple[Tensor, Tensor]:
    """Two reusable buffers for a chunk's logits: new memory for every chunk would cost page faults."""
    shape = (min(chunk, len(hidden)), len(head))
    first, second = (hidden.new_empty(shape, dtype=_wide(head)) for _ in range(2))
    return first, second


def _logits(states: Tensor, head: Tensor, bias: Tensor | None, room: Tensor) -> Tensor:
    logits = room[: len(states)]
    if states.dtype == room.dtype:
        torch.mm(states, head.t(), out=logits)
    else:
        logits.copy_(states @ head.t())
    return logits if bias is None else logits.add_(bias)


def _wide(head: Tensor) -> torch.dtype:
    """The dtype of sums: float32, or float64 when gradients are checked."""
    return torch.promote_types(head.dtype, torch.float32)


def _add_product(total: Tensor, slope: Tensor, states: Tensor) -> None:
    """total += slope^T states."""
    if slope.dtype == total.dtype:
        total.addmm_(slope.t(), states)
    else:
        total += slope.t() @ states
