"""A row that holds a group's prompt once gives what its sequences give one by one: values, gradients, and steps."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny_models import VOCABULARY, tiny_llama
from torch.nn.functional import scaled_dot_product_attention

from selfplay.rl.loss.normalise import sequence_means
from selfplay.train import attention
from selfplay.train.attention import spans
from selfplay.train.errors import TrainError
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.packing import Example
from selfplay.train.prefix_sharing import Layout
from selfplay.train.rows import PackedRow, row, rows
from selfplay.train.step import StepOptions, Tokens, Trainer

FP32 = ModelOptions(precision="fp32", checkpointing=False)


def attempts(prompts: tuple[int, ...] = (40, 25), answers: tuple[int, ...] = (9, 3, 17)) -> list[Example]:
    """A group for each prompt, an attempt for each answer, with something observed in its midst."""
    torch.manual_seed(5)
    found = []
    for group, length in enumerate(prompts):
        prompt = torch.randint(VOCABULARY, (length,)).tolist()
        for number, answer in enumerate(answers):
            ids = [*prompt, *torch.randint(VOCABULARY, (answer,)).tolist()]
            mask = [0] * length + [int(at % 4 != 1) for at in range(answer)]
            found.append(Example(f"{group}.{number}", ids, mask, {"advantages": torch.randn(len(ids)).tolist()}))
    return found


def policy_gradient(tokens: Tokens) -> torch.Tensor:
    losses = -torch.where(tokens.mask, tokens.logprobs * tokens.numbers["advantages"], 0.0)
    return sequence_means(losses, tokens.mask, tokens.sequence)


def shared(examples: list[Example], budget: int = 1000) -> list[PackedRow]:
    found = rows(examples, budget)
    assert sum(len(each.ids) for each in found) < sum(len(example.read.ids) for example in examples)
    return found


@pytest.mark.parametrize("block", [2, 512])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_values_and_gradients_are_those_of_the_sequences_alone(
    block: int, checkpointing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "BLOCK", block)
    examples, one, other = (
        attempts(),
        scorer_of(tiny_llama(), FP32),
        scorer_of(tiny_llama(), replace(FP32, checkpointing=checkpointing)),
    )
    alone = {}
    for example in examples:
        values = one(row([example]))[0]
        alone[example.name] = values.detach()
        (values.sum() + values.square().sum()).backward()
    found = {}
    for packed in shared(examples):
        values = other(packed)[0]
        found |= dict(zip(packed.names, packed.values(values.detach()), strict=True))
        (values.sum() + values.square().sum()).backward()
    for name, values in alone.items():
        torch.testing.assert_close(found[name], values[: len(found[name])], atol=1e-5, rtol=1e-4)
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-4)


def test_a_step_is_that_of_attention_that_shares_nothing(tmp_path: Path) -> None:
    """`sdpa` masks each sequence by its positions; so its rows hold every prompt as often as it is read."""
    weights, figures = [], []
    for how in ("packed", "sdpa"):
        trainer = Trainer(
            scorer_of(tiny_llama(), replace(FP32, attention=how)), StepOptions(lr=1e-2, budget=120, refused=tmp_path)
        )
        figures.append(trainer.step(attempts(), policy_gradient, 6.0))
        weights.append([parameter.detach().clone() for parameter in trainer.scorer.parameters()])
    for mine, theirs in zip(*weights, strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-3)
    packed, masked = figures
    assert packed.loss == pytest.approx(masked.loss, rel=1e-4) and packed.gradient == pytest.approx(
        masked.gradient, rel=1e-3
    )
    assert (
        packed.rows < masked.rows
    )  # 2 groups of 39 + 32 and 24 + 32 tokens; apart they are 3 x 40 + 29 and 3 x 25 + 29


def test_log_probabilities_of_a_batch_are_given_by_example(tmp_path: Path) -> None:
    trainer = Trainer(scorer_of(tiny_llama(), FP32), StepOptions(budget=120, refused=tmp_path))
    found = trainer.logprobs(attempts())
    for example, values in zip(attempts(), found, strict=True):
        (expected,) = trainer.logprobs([example])
        assert len(values) == len(example.ids)
        assert values == pytest.approx(expected, abs=1e-5)


def test_no_member_of_a_group_sees_another() -> None:
    """Other ids in the first answer change nothing, to the last bit, in the rest of the row."""
    scorer, (one, *others) = scorer_of(tiny_llama(), FP32), attempts((40,))
    changed = replace(one, ids=[*one.ids[:40], *[5] * (len(one.ids) - 40)])
    with torch.no_grad():
        before, after = (scorer(shared([first, *others])[0])[0] for first in (one, changed))
    own = slice(39, 39 + len(one.read.ids) - 39)
    assert not torch.equal(before[own], after[own])
    assert torch.equal(before[own.stop :], after[own.stop :])


def test_the_spans_of_one_call_are_what_each_stretch_sees() -> None:
    """As a variable-length kernel reads them: queries of a stretch see the keys up to their own place, counted from the
    last of both. Checked with such a kernel written out, since the real one needs a GPU."""
    layout = (Layout(3, (2, 4)), Layout(0, (5,)))
    queries, keys, places = spans(layout)
    assert (queries, keys) == ([3, 2, 4, 5], [3, 5, 7, 5])
    assert places == [(0, 3), (0, 3), (3, 5), (0, 3), (5, 9), (9, 14)]
    assert spans((Layout(0, (5,)), Layout(0, (2,)))) == ([5, 2], [5, 2], [(0, 5), (5, 7)])
    torch.manual_seed(3)
    q, k, v = (torch.randn(1, 2, 14, 8) for _ in range(3))
    expected, _ = attention.packed_attention(torch.nn.Identity(), q, k, v, None, layout=layout)
    gathered, found, at, seen = [torch.cat([part[:, :, a:b] for a, b in places], dim=2) for part in (k, v)], [], 0, 0
    for length, width in zip(queries, keys, strict=True):
        mask = torch.ones(length, width, dtype=torch.bool).tril(width - length)
        some = [part[:, :, seen : seen + width] for part in gathered]
        found.append(scaled_dot_product_attention(q[:, :, at : at + length], *some, attn_mask=mask))
        at, seen = at + length, seen + width
    torch.testing.assert_close(torch.cat(found, dim=2).transpose(1, 2), expected)


def test_a_window_shorter_than_prompt_and_answer_is_refused() -> None:
    query = torch.zeros(1, 2, 9, 4)
    with pytest.raises(TrainError, match="window of 6"):
        attention.packed_attention(
            torch.nn.Identity(), query, query, query, None, layout=(Layout(5, (2, 2)),), sliding_window=6
        )


def test_a_model_in_which_a_shared_prompt_is_not_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that counts positions itself: here the sequences after a prompt do not see it."""

    def blind(layout: Layout, *parts: torch.Tensor | None) -> list[torch.Tensor]:
        query, key, value, _ = parts
        pieces = zip(*(part.split((layout.shared, *layout.own), dim=2) for part in (query, key, value)), strict=True)
        return [scaled_dot_product_attention(*piece, is_causal=True) for piece in pieces if piece[0].shape[2]]

    monkeypatch.setattr(attention, "_attended", blind)
    with pytest.raises(TrainError, match="cannot be packed"):
        scorer_of(tiny_llama(), FP32)
