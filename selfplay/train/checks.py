"""Tests on sixteen tokens whether a loaded model can be trained here: its logits come from the output head alone, and
no sequence in a packed row affects the next, and one after a shared prompt is as alone."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from selfplay.train.errors import TrainError
from selfplay.train.logprobs import token_logprobs
from selfplay.train.packing import Example
from selfplay.train.prefix_sharing import PrefixGroup, alone
from selfplay.train.rows import row_of

if TYPE_CHECKING:
    from selfplay.train.model import Scorer

APART = 1e-3
"""The largest allowed difference between the model's own log-probabilities in float32 and ours."""
LEAK = 1e-5
"""How far hidden states of a packed sequence may move with its neighbour's tokens, relative to their largest value.
Where nothing crosses they move by nothing, or (experts, whose batches change) by rounding: 1e-7."""
ELSEWHERE = 1e-3
"""How far they may be from those of the sequence alone: another shape rounds differently."""
TOKENS = 8


def check_head(scorer: "Scorer") -> None:
    """Raises `TrainError` for a model that caps or scales its logits."""
    model, ids = scorer.model, torch.arange(TOKENS, device=scorer.device) % scorer.vocabulary
    with torch.no_grad():
        own = model(input_ids=ids[None], use_cache=False).logits[0, :-1].float().log_softmax(-1)
        hidden = model.base_model(input_ids=ids[None], use_cache=False).last_hidden_state[0, :-1]
        head = model.get_output_embeddings()
        ours, _ = token_logprobs(hidden, head.weight, ids[1:], head.bias)
    apart = float((own.gather(1, ids[1:, None]).squeeze(1) - ours).abs().max())
    if not apart <= APART:
        raise TrainError(
            f"{type(model).__name__} does more to its logits than its output head: {apart:.3g} apart",
            "Such models (a cap or a scale of the logits) cannot be trained here.",
        )


def check_packing(scorer: "Scorer") -> None:
    """Raises `TrainError` for a model in which a packed sequence depends on the one before it: recurrent layers and
    convolutions run on over the boundary, and some attention builds its own mask. Hidden states are compared, not
    log-probabilities: a small output head would hide the difference."""
    ids = [at % scorer.vocabulary for at in range(3 * TOKENS)]
    before, other, second = ids[:TOKENS], ids[TOKENS : 2 * TOKENS][::-1], ids[2 * TOKENS :]
    alone, packed, changed = (_last(scorer, *found) for found in ((second,), (before, second), (other, second)))
    size = float(alone.abs().max())
    leak, apart = float((changed - packed).abs().max()) / size, float((packed - alone).abs().max()) / size
    if scorer.shares:
        apart = max(apart, float((_last(scorer, before, second, shared=TOKENS // 2) - alone).abs().max()) / size)
    if not (leak <= LEAK and apart <= ELSEWHERE):
        raise TrainError(
            f"{type(scorer.model).__name__} cannot be packed: with attention={scorer.options.attention} the hidden "
            f"states of a sequence move by {max(leak, apart):.2g} of their size with what stands before it in its row",
            "Such models (recurrent or convolution layers, ALiBi) cannot be trained here; "
            "take one whose layers are all attention with rotary or learned positions.",
        )


def _last(scorer: "Scorer", *sequences: list[int], shared: int = 0) -> Tensor:
    """The hidden states of the row's last sequence. `shared`: so many of its first tokens stand once, before all."""
    given = [sequences[-1][:shared] + ids[shared:] for ids in sequences]
    examples = [Example(str(number), ids, [0] * len(ids)) for number, ids in enumerate(given)]
    groups = [PrefixGroup(tuple(examples), shared)] if shared else alone(examples)
    with torch.no_grad():
        hidden = scorer.hidden(row_of(groups, scorer.device)).float()
    own = hidden[shared - len(sequences[-1]) :]
    return torch.cat([hidden[:shared], own]) if shared else own
