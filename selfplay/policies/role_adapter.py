"""One role's view of a model that has an adapter for each role."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from selfplay.agent.model import Sample, Sampling


class Adapting(Protocol):
    """An engine that samples each role with its own adapter."""

    name: str
    context: int

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int], role: str = "") -> Sample:
        """Tokens after `prompt`, with the adapter of `role` if it has one. Raises `ModelError`."""
        ...


@dataclass
class Adapted:
    """A `TokenModel`."""

    engine: Adapting
    role: str

    def __post_init__(self) -> None:
        self.name, self.context = self.engine.name, self.engine.context

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        return await self.engine.sample(prompt, sampling, stop, self.role)
