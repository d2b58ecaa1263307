"""What trainer and engines agree on before weights go from one to the others: where they meet, what will be sent."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

TRAINER = "what the trainer sends"
Fact = tuple[str, str, tuple[int, ...]]
"""Of a tensor: its name, its dtype (`bfloat16`), its shape."""


@dataclass(frozen=True)
class Rendezvous:
    """Where a process group meets. `name`: no other group has it; `ranks`: how many members it has; `backend`: `gloo`
    or `nccl`."""

    name: str
    host: str
    port: int
    ranks: int
    backend: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def shapes_of(facts: Sequence[Fact]) -> Mapping[str, tuple[int, ...]]:
    """Tensor -> its shape."""
    return {name: tuple(shape) for name, _, shape in facts}
