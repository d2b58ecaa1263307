"""Layers' inputs in main memory: which tensors go there, and that the gradient is the same to the last digit.

On a CPU main memory is where they are anyway: what is tested is which tensors are handed over, not the transfer."""

from collections import Counter
from typing import Any

import pytest
import torch
from tiny_models import tiny_llama, uneven
from torch.autograd.graph import saved_tensors_hooks

from selfplay.train import model as module
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.rows import row

TOKENS, WIDTH = 20, 32


def gradients(**options: Any) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    scorer = scorer_of(tiny_llama(), ModelOptions(precision="fp32", keep_attention=False, **options))
    scorer(row(uneven((TOKENS,))))[0].sum().backward()
    return {name: value.grad for name, value in scorer.named_parameters() if value.grad is not None}


def test_the_gradient_is_the_same() -> None:
    plain, offloaded = gradients(), gradients(offload=True)
    assert plain.keys() == offloaded.keys() and all(plain[name].equal(offloaded[name]) for name in plain)


def test_every_layer_s_input_is_handed_over_and_nothing_inside_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two layers the MLP's width, 64, does not appear: it is computed again."""
    seen: Counter[tuple[int, ...]] = Counter()

    class Counting(saved_tensors_hooks):
        def __init__(self, pin_memory: bool) -> None:
            assert not pin_memory, "pages are pinned for a GPU alone"
            super().__init__(self.pack, lambda tensor: tensor)

        def pack(self, tensor: torch.Tensor) -> torch.Tensor:
            seen[tuple(tensor.shape)] += 1
            return tensor

    monkeypatch.setattr(module, "save_on_cpu", Counting)
    gradients(offload=True)
    assert seen[1, TOKENS, WIDTH] >= 2 and not any(64 in shape for shape in seen)
    before = seen.total()
    gradients()
    assert seen.total() == before, "without the option nothing is handed over"
