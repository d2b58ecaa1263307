"""Chunked log-probabilities and entropies against the naive way."""

import pytest
import torch
from torch import Tensor

from selfplay.train.logprobs import token_logprobs


def naive(hidden: Tensor, head: Tensor, targets: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    logs = torch.nn.functional.linear(hidden, head, bias).log_softmax(-1)
    return logs.gather(1, targets[:, None]).squeeze(1), -(logs.exp() * logs).sum(-1)


def inputs(dtype: torch.dtype, tokens: int = 11, size: int = 5, vocabulary: int = 7) -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    hidden, head = torch.randn(tokens, size), torch.randn(vocabulary, size)
    return (
        hidden.to(dtype).requires_grad_(),
        head.to(dtype).requires_grad_(),
        torch.randint(vocabulary, (tokens,)),
        torch.randn(vocabulary).to(dtype).requires_grad_(),
    )


def test_two_words_by_hand() -> None:
    """Logits (0, ln 3): chances 1/4 and 3/4; entropy ln 4 - 3/4 ln 3."""
    head = torch.tensor([[0.0], [3.0]]).log().clamp(min=0.0)
    logprobs, entropies = token_logprobs(torch.ones(2, 1), head, torch.tensor([0, 1]))
    torch.testing.assert_close(logprobs.exp(), torch.tensor([0.25, 0.75]))
    torch.testing.assert_close(entropies, torch.full((2,), 0.56233514))


@pytest.mark.parametrize("chunk", [1, 4, 11, 64])
def test_values_do_not_depend_on_the_chunk(chunk: int) -> None:
    hidden, head, targets, bias = inputs(torch.float64)
    for mine, theirs in zip(
        token_logprobs(hidden, head, targets, bias, chunk=chunk), naive(hidden, head, targets, bias), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("with_bias", [False, True])
def test_gradients_of_both_are_those_of_finite_differences(with_bias: bool) -> None:
    hidden, head, targets, bias = inputs(torch.float64)
    given = (hidden, head, bias) if with_bias else (hidden, head)

    def both(*parts: Tensor) -> tuple[Tensor, Tensor]:
        return token_logprobs(parts[0], parts[1], targets, *parts[2:], chunk=4)

    assert torch.autograd.gradcheck(both, given)
    assert torch.autograd.gradcheck(lambda *parts: both(*parts)[0], given)
    assert torch.autograd.gradcheck(lambda *parts: both(*parts)[1], given)


def test_half_precision_is_as_near_as_the_naive_way_in_half_precision() -> None:
    """bf16 keeps 8 bits: a logit near 8 is rounded by up to 1/64. Against float32 on the same rounded inputs, ours must
    not be further off than that, and its gradient not further than the naive bf16 one by more than a half."""
    torch.manual_seed(1)
    tokens, size, vocabulary = 64, 32, 500
    wide = [torch.randn(tokens, size), torch.randn(vocabulary, size) / 4]
    targets = torch.randint(vocabulary, (tokens,))
    results = {}
    for name, function, dtype in (
        ("exact", naive, torch.float32),
        ("naive", naive, torch.bfloat16),
        ("ours", token_logprobs, torch.bfloat16),
    ):
        hidden, head = (part.bfloat16().to(dtype).requires_grad_() for part in wide)
        logprobs, entropies = function(hidden, head, targets)
        (logprobs.float().sum() + entropies.float().sum()).backward()
        results[name] = [part.detach().float() for part in (logprobs, entropies, hidden.grad, head.grad)]
    apart = {
        name: [
            float((mine - exact).norm() / exact.norm())
            for mine, exact in zip(results[name], results["exact"], strict=True)
        ]
        for name in ("naive", "ours")
    }
    assert float((results["ours"][0] - results["exact"][0]).abs().max()) < 1 / 64
    assert all(ours <= 1.5 * theirs for ours, theirs in zip(apart["ours"], apart["naive"], strict=True)), apart


def test_the_logits_of_the_batch_never_exist() -> None:
    """1000 tokens of a vocabulary of 4000 are 4 million logits; the largest tensor of forward and backward has 50 x
    4000 elements, a chunk's."""
    torch.manual_seed(0)
    hidden, head = torch.randn(1000, 8, requires_grad=True), torch.randn(4000, 8, requires_grad=True)
    sizes: list[int] = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            out = func(*args, **(kwargs or {}))
            sizes.extend(part.numel() for part in (out if isinstance(out, tuple) else (out,)) if torch.is_tensor(part))
            return out

    with Watch():
        logprobs, entropies = token_logprobs(hidden, head, torch.zeros(1000, dtype=torch.long), chunk=50)
        (logprobs + entropies).sum().backward()
    assert max(sizes) == 50 * 4000
