"""Sequences into rows of at most a budget of tokens. Plain numbers: no tensor library.

First fit by falling length: each sequence goes into the first row with room, longest first. It never needs more than
11/9 of the fewest possible rows plus one. A sequence is never split over rows, so sequence ratios and means over its
tokens stay in one place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from selfplay.formatting import count
from selfplay.train.errors import TrainError


@dataclass(frozen=True)
class Example:
    """One sequence of tokens. `mask`: 1 where the token is trained on; `numbers`: named values per token for the loss
    (advantages, the engine's log-probabilities). Raises `TrainError` for differing lengths, an id below 0, and a first
    token that is trained on: it has no context."""

    name: str
    ids: Sequence[int]
    mask: Sequence[int]
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, values in (("mask", self.mask), *self.numbers.items()):
            if len(values) != len(self.ids):
                raise TrainError(
                    f"{self.name}: {count(len(self.ids), 'id')} and {count(len(values), 'value')} of {what}"
                )
        if not len(self.ids) or min(self.ids) < 0:
            raise TrainError(f"{self.name}: a sequence needs ids of at least 0")
        if self.mask[0]:
            raise TrainError(f"{self.name}: its first token cannot be trained on: it has no context")

    @property
    def trained(self) -> int:
        """How many of the sequence's tokens are trained on."""
        return sum(map(bool, self.mask))

    @property
    def read(self) -> "Example":
        """The sequence up to its last trained token, since no log-probability depends on the rest; without trained
        tokens, its first token."""
        last = max((at for at, on in enumerate(self.mask) if on), default=0)
        return self if last + 1 == len(self.ids) else self.first(last + 1)

    def first(self, tokens: int) -> "Example":
        """The sequence's first `tokens` tokens."""
        numbers = {name: values[:tokens] for name, values in self.numbers.items()}
        return replace(self, ids=self.ids[:tokens], mask=self.mask[:tokens], numbers=numbers)


TooLong = Literal["refuse", "cut", "leave-out"]


def fitting(examples: Iterable[Example], budget: int, too_long: TooLong = "refuse") -> list[Example]:
    """The examples that fit into `budget` tokens and have trained tokens. A longer one is refused by name, left out, or
    cut to its first `budget` tokens.

    Raises `TrainError`."""
    kept = []
    for example in examples:
        if len(example.ids) > budget and too_long == "refuse":
            raise TrainError(
                f"{example.name} has {count(len(example.ids), 'token')}, the budget of a row is {budget}",
                "Raise the budget, or have long sequences cut or left out.",
            )
        if len(example.ids) <= budget or too_long == "cut":
            kept.append(example.first(budget) if len(example.ids) > budget else example)
    return [example for example in kept if example.trained]


def check_readable(examples: Iterable[Example], vocabulary: int, context: int) -> None:
    """Raises `TrainError` for an example that a model of this vocabulary and context cannot read."""
    for example in examples:
        if len(example.ids) > context:
            raise TrainError(
                f"{example.name} has {count(len(example.ids), 'token')}, the model's context ends at {context}"
            )
        if max(example.ids) >= vocabulary:
            raise TrainError(
                f"{example.name} has id {max(example.ids)}, the vocabulary ends at {vocabulary}",
                "Is it a rollout of another tokenizer?",
            )


def pack(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Rows as indices into `lengths`, each row's tokens within `budget`. Raises `TrainError` for a longer sequence."""
    rows: list[list[int]] = []
    room: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        length = lengths[index]
        if length > budget:
            raise TrainError(f"a sequence of {count(length, 'token')} does not fit into a row of {budget}")
        at = next((at for at, free in enumerate(room) if free >= length), len(rows))
        if at == len(rows):
            rows.append([])
            room.append(budget)
        rows[at].append(index)
        room[at] -= length
    return rows
