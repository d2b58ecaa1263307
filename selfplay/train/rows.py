"""A row as tensors: packed sequences one after the other, each with positions from 0.

Every tensor is `[tokens]`. Each value is at its token's index; `model` takes its log-probability from the hidden state
before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from selfplay.train.packing import Example, pack


@dataclass(frozen=True)
class PackedRow:
    """`lengths`: tokens of each sequence; `sequence`: the number of each token's sequence, from 0; `names`: the
    sequences' names; `numbers`: the examples' numbers, in float32."""

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    ids: Tensor
    positions: Tensor
    sequence: Tensor
    mask: Tensor
    numbers: Mapping[str, Tensor]


def row(examples: Sequence[Example], device: torch.device | str = "cpu") -> PackedRow:
    """One row of all the examples. A number that only some examples have is NaN for the others; a loss reads only
    inside the mask."""
    lengths = tuple(len(example.ids) for example in examples)
    sequence = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    names = sorted({name for example in examples for name in example.numbers})

    def joined(name: str) -> Tensor:
        gaps = [example.numbers.get(name, [float("nan")] * len(example.ids)) for example in examples]
        return torch.cat([torch.tensor(list(values), dtype=torch.float32) for values in gaps]).to(device)

    return PackedRow(
        tuple(example.name for example in examples),
        lengths,
        torch.cat([torch.tensor(list(example.ids)) for example in examples]).to(device),
        torch.cat([torch.arange(length) for length in lengths]).to(device),
        sequence.to(device),
        torch.cat([torch.tensor(list(example.mask), dtype=torch.bool) for example in examples]).to(device),
        {name: joined(name) for name in names},
    )


def rows(examples: Sequence[Example], budget: int, device: torch.device | str = "cpu") -> list[PackedRow]:
    """The examples packed into rows of at most `budget` tokens, each up to its last trained token. Raises `TrainError`
    for one that is longer."""
    examples = [example.read for example in examples]
    packed = pack([len(example.ids) for example in examples], budget)
    return [row([examples[index] for index in indices], device) for indices in packed]
