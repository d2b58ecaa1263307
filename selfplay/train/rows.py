"""A row as tensors: sequences one after the other, each with positions from 0. A prompt that several begin with stands
before them once.

Every tensor is `[tokens]`. Each value is at its token's index; `model` takes its log-probability from the hidden state
before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from selfplay.train.packing import Example, pack
from selfplay.train.prefix_sharing import Layout, PrefixGroup, alone, prefix_groups


@dataclass(frozen=True)
class PackedRow:
    """`layout`: what stands in the row, in order; `sequence`: the number of each token's sequence, from 0 (of the
    first, for shared tokens); `names`: the sequences' names; `numbers`: the examples' numbers, in float32."""

    names: tuple[str, ...]
    layout: tuple[Layout, ...]
    ids: Tensor
    positions: Tensor
    sequence: Tensor
    mask: Tensor
    numbers: Mapping[str, Tensor]

    def values(self, of_tokens: Tensor) -> list[Tensor]:
        """Each sequence's part of a value per token, which is 0 for shared tokens."""
        found, at = [], 0
        for shared, own in self.layout:
            before, at = of_tokens.new_zeros(shared), at + shared
            for length in own:
                found.append(torch.cat([before, of_tokens[at : at + length]]))
                at += length
        return found


def row(examples: Sequence[Example], device: torch.device | str = "cpu") -> PackedRow:
    """One row of all the examples, which share nothing."""
    return row_of(alone(examples), device)


def row_of(groups: Sequence[PrefixGroup], device: torch.device | str = "cpu") -> PackedRow:
    """One row of all the groups. A number that only some examples have is NaN for the others; a loss reads only inside
    the mask."""
    examples = [example for group in groups for example in group.examples]
    stretches = _stretches(groups)
    parts = [(examples[number], start, end) for number, start, end in stretches]
    sequence = [number for number, start, end in stretches for _ in range(start, end)]

    def joined(name: str) -> Tensor:
        absent = float("nan")
        found = [list(e.numbers[name][a:b]) if name in e.numbers else [absent] * (b - a) for e, a, b in parts]
        return torch.cat([torch.tensor(part, dtype=torch.float32) for part in found]).to(device)

    return PackedRow(
        tuple(example.name for example in examples),
        tuple(group.layout for group in groups),
        torch.cat([torch.tensor(list(example.ids[start:end])) for example, start, end in parts]).to(device),
        torch.cat([torch.arange(start, end) for _, start, end in parts]).to(device),
        torch.tensor(sequence).to(device),
        torch.cat([torch.tensor(list(e.mask[start:end]), dtype=torch.bool) for e, start, end in parts]).to(device),
        {name: joined(name) for name in sorted({name for example in examples for name in example.numbers})},
    )


def _stretches(groups: Sequence[PrefixGroup]) -> list[tuple[int, int, int]]:
    """(number of the sequence, its first token, end) of each stretch of a row; a shared one is of the first sequence
    that has it."""
    found, number = [], 0
    for group in groups:
        found += [(number, 0, group.shared)] if group.shared else []
        for example in group.examples:
            found.append((number, group.shared, len(example.ids)))
            number += 1
    return found


def rows(
    examples: Sequence[Example], budget: int, device: torch.device | str = "cpu", *, share: bool = True
) -> list[PackedRow]:
    """The examples packed into rows of at most `budget` tokens, each up to its last trained token; with `share`, those
    of one prompt around it. Raises `TrainError` for one that is longer."""
    examples = [example.read for example in examples]
    groups = prefix_groups(examples, budget) if share else alone(examples)
    packed = pack([group.layout.tokens for group in groups], budget)
    return [row_of([groups[index] for index in indices], device) for indices in packed]
