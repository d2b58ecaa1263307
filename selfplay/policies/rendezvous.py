"""What trainer and engines agree on before weights are sent: where they meet, and which tensors will come."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

TRAINER = "what the trainer sends"
Fact = tuple[str, str, tuple[int, ...]]
"""A tensor's name, dtype (`bfloat16`) and shape."""


@dataclass(frozen=True)
class Rendezvous:
    """Where a process group meets. `name`: unique; `ranks`: how many members it has; `backend`: `gloo`
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
