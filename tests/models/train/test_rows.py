"""Packed equals padded equals one by one, and no token sees another sequence."""

from dataclasses import replace

import pytest
import torch
from tiny_models import VOCABULARY, tiny_llama, uneven
from torch import Tensor
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from selfplay.train.attention import packed_attention
from selfplay.train.errors import TrainError
from selfplay.train.model import ModelOptions, Scorer, scorer_of
from selfplay.train.packing import Example
from selfplay.train.prefix_sharing import Layout
from selfplay.train.rows import row

FP32 = ModelOptions(precision="fp32", checkpointing=False)


def padded_logprobs(model: LlamaForCausalLM, examples: list[Example]) -> list[Tensor]:
    """The naive way: a padded batch through transformers' own attention, all logits at once."""
    model.set_attn_implementation("sdpa")
    width = max(len(example.ids) for example in examples)
    ids = torch.tensor([[*e.ids, *[0] * (width - len(e.ids))] for e in examples])
    seen = torch.tensor([[1] * len(e.ids) + [0] * (width - len(e.ids)) for e in examples])
    logs = model(input_ids=ids, attention_mask=seen).logits[:, :-1].log_softmax(-1)
    found = logs.gather(2, ids[:, 1:, None]).squeeze(2)
    return [
        values[: len(e.ids) - 1][torch.tensor(e.mask[1:]).bool()] for values, e in zip(found, examples, strict=True)
    ]


def smollm2_shape() -> LlamaForCausalLM:
    """SmolLM2-135M's layers (nine heads of 64 on three of keys, no bias, tied), two of its thirty, random weights."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=576, intermediate_size=1536, num_hidden_layers=2, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rope_theta=100_000.0, rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config)


@pytest.mark.parametrize("make", [tiny_llama, smollm2_shape])
@pytest.mark.parametrize("attention", ["packed", "sdpa", "eager"])
def test_packed_equals_padded_equals_one_by_one(make, attention: str) -> None:
    examples, options = uneven(), replace(FP32, attention=attention)
    with torch.no_grad():
        expected = torch.cat(padded_logprobs(make(), examples))
        scorer = scorer_of(make(), options)
        one_by_one = torch.cat([scorer(packed)[0][packed.mask] for packed in (row([e]) for e in examples)])
        packed = row(examples)
        together = scorer(packed)[0][packed.mask]
    torch.testing.assert_close(one_by_one, expected, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(together, expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("keep_attention", [True, False])
def test_gradients_packed_equal_gradients_one_by_one(keep_attention: bool) -> None:
    """And what is computed again has the gradients of what was kept."""
    examples, again = uneven(), replace(FP32, checkpointing=True, keep_attention=keep_attention)
    one, other = scorer_of(tiny_llama(), FP32), scorer_of(tiny_llama(), again)
    one(row(examples))[0].sum().backward()
    for example in examples:
        other(row([example]))[0].sum().backward()
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("attention", ["packed", "sdpa"])
def test_no_token_sees_another_sequence(attention: str) -> None:
    """Other ids in the first sequence change nothing, to the last bit, in those after it."""
    scorer = scorer_of(tiny_llama(), replace(FP32, attention=attention))
    examples = uneven()
    changed = [replace(examples[0], ids=[5] * len(examples[0].ids)), *examples[1:]]
    with torch.no_grad():
        before, after = (scorer(row(found))[0] for found in (examples, changed))
    first = len(examples[0].ids)
    assert not torch.equal(before[:first], after[:first])
    assert torch.equal(before[first:], after[first:])


def test_values_outside_the_mask_are_zero_and_a_row_of_the_mask_alone_is_scored() -> None:
    scorer, packed = scorer_of(tiny_llama(), FP32), row(uneven())
    logprobs, entropies = scorer(packed)
    assert bool((logprobs[~packed.mask] == 0).all() and (entropies[~packed.mask] == 0).all())
    assert bool((logprobs[packed.mask] < 0).all() and (entropies[packed.mask] > 0).all())
    assert packed.positions.tolist() == [*range(9), *range(23), *range(5), *range(14)]


def test_numbers_stand_at_their_tokens_and_missing_ones_are_nan() -> None:
    one = Example("one", [1, 2], [0, 1], {"sampled": [0.0, -1.5]})
    packed = row([one, Example("other", [3, 4, 5], [0, 1, 1])])
    assert packed.numbers["sampled"][:2].tolist() == [0.0, -1.5]
    assert bool(packed.numbers["sampled"][2:].isnan().all())
    assert packed.sequence.tolist() == [0, 0, 1, 1, 1]


def test_bf16_compute_keeps_float32_masters_and_gradients() -> None:
    """bf16 has 8 bits of mantissa: log-probabilities near -4.6 differ from float32's by hundredths at most."""
    packed = row(uneven())
    exact, half = scorer_of(tiny_llama(), FP32), scorer_of(tiny_llama(), replace(FP32, precision="bf16"))
    with torch.no_grad():
        wide = exact(packed)[0]
    narrow = half(packed)[0]
    narrow.sum().backward()
    assert {p.dtype for p in half.parameters()} == {p.grad.dtype for p in half.parameters()} == {torch.float32}
    apart = float((wide - narrow).abs().max())
    assert 0 < apart < 0.05


def test_attention_that_is_more_than_causal_is_refused() -> None:
    query = torch.zeros(1, 2, 6, 4)
    module = torch.nn.Identity()
    for others, what in (({"softcap": 50.0}, "softcap"), ({"sliding_window": 5}, "window of 5"), ({}, "dropout")):
        with pytest.raises(TrainError, match=what):
            packed_attention(
                module, query, query, query, None, layout=(Layout(0, (6,)),), dropout=0.0 if others else 0.1, **others
            )
    inside_the_window = packed_attention(
        module, query, query, query, None, layout=(Layout(0, (3,)), Layout(0, (3,))), sliding_window=5
    )
    assert inside_the_window[0].shape == (1, 6, 2, 4)


def test_a_model_that_scales_its_logits_is_refused() -> None:
    from transformers import CohereConfig

    torch.manual_seed(0)
    config = CohereConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
        logit_scale=4.0, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    with pytest.raises(TrainError, match="does more to its logits than its output head"):
        scorer_of(AutoModelForCausalLM.from_config(config, dtype=torch.float32), FP32)


def test_masters_in_half_precision_are_refused() -> None:
    with pytest.raises(TrainError, match=r"masters are kept in float32"):
        scorer_of(tiny_llama().bfloat16(), FP32)


def test_without_more_ranks_there_is_no_wrapper() -> None:
    scorer = scorer_of(tiny_llama(), FP32)
    assert type(scorer) is Scorer and type(scorer.model) is LlamaForCausalLM
