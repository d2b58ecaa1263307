"""Sequences that begin with one prompt, as attempts of a group do: a row holds the prompt once. Plain numbers: no
tensor library.

The prompt's hidden states do not depend on what follows it, so their part of the work is done once for the group, not
once for each member, and the gradient is the same. With prompts of P tokens and answers of S, N members cost P + N S
tokens instead of N (P + S).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from selfplay.train.packing import Example, pack

LEAST = 16
"""Shared tokens that are worth another shape of attention."""


class Layout(NamedTuple):
    """What stands together in a row: `shared` tokens that `own` sequences begin with, then the rest of each."""

    shared: int
    own: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """Tokens in the row."""
        return self.shared + sum(self.own)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.shared + max(self.own)


@dataclass(frozen=True)
class PrefixGroup:
    """Sequences whose first `shared` tokens are the same, and not trained on; one sequence alone shares 0. The token
    after the shared ones is not trained on either, so the hidden state before each trained token is its own
    sequence's."""

    examples: tuple[Example, ...]
    shared: int = 0

    @property
    def layout(self) -> Layout:
        """Their tokens in a row."""
        return Layout(self.shared, tuple(len(example.ids) - self.shared for example in self.examples))


def alone(examples: Iterable[Example]) -> list[PrefixGroup]:
    """Each example by itself: they share nothing."""
    return [PrefixGroup((example,)) for example in examples]


def prefix_groups(examples: Sequence[Example], budget: int) -> list[PrefixGroup]:
    """The examples by the tokens before their first trained one, each group within `budget` tokens; a group that is
    larger is several, each with the shared tokens. Raises `TrainError` for a sequence longer than the budget."""
    prompts: dict[tuple[int, ...], list[Example]] = defaultdict(list)
    for example in examples:
        lead = next((at for at, on in enumerate(example.mask) if on), 0)
        prompts[tuple(example.ids[:lead])].append(example)
    return [group for prompt, some in prompts.items() for group in _within(some, len(prompt) - 1, budget)]


def _within(examples: Sequence[Example], shared: int, budget: int) -> list[PrefixGroup]:
    if shared < LEAST or len(examples) == 1:
        return alone(examples)
    parts = pack([len(example.ids) - shared for example in examples], budget - shared)
    found = [tuple(examples[index] for index in sorted(part)) for part in parts]
    return [PrefixGroup(part, shared if len(part) > 1 else 0) for part in found]
