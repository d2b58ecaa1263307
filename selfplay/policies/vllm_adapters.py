"""The roles' adapters in a vLLM engine: every request names its adapter.

The weights below them never change. Each version's adapter has a new name, so vLLM reuses neither weights nor cached
prefixes of the version before; a running request keeps its adapter.
"""

import asyncio
import itertools
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from selfplay.agent.model import ModelError
from selfplay.policies.weights import adapters

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The maximum LoRA ranks that vLLM accepts for an engine."""
Rank = Annotated[int, Field(ge=0, le=RANKS[-1])]
SECONDS = 600.0


def lora_arguments(rank: int) -> dict[str, Any]:
    """vLLM's arguments for one adapter of this rank per role; empty for rank 0."""
    if not rank:
        return {}
    return {"enable_lora": True, "max_loras": 2, "max_lora_rank": room_for(rank)}


def room_for(rank: int) -> int:
    """The maximum rank to open an engine with."""
    return next(one for one in RANKS if one >= rank)


class VllmAdapters:
    """The newest adapter of each role."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._newest: dict[str, Any] = {}
        self._numbers = itertools.count(1)

    def of(self, role: str) -> Any:
        """The adapter for a request of this role; None before the first one. Raises `ModelError` for another role."""
        if self._newest and role not in self._newest:
            raise ModelError(f"there is no adapter for {role or 'no role'}, only for {', '.join(self._newest)}")
        return self._newest.get(role)

    async def take(self, folder: Path, version: int) -> None:
        """Use the adapters in a folder of weights. Raises `ModelError`, and then keeps the old ones."""
        from vllm.lora.request import LoRARequest

        found = adapters(folder)
        coming = {role: LoRARequest(f"{role} {version}", next(self._numbers), str(found[role])) for role in found}
        try:
            async with asyncio.timeout(SECONDS):
                for request in coming.values():
                    await self._engine.add_lora(request)
        except Exception as error:  # vLLM has many kinds
            raise ModelError(f"the adapters in {folder} cannot be loaded: {str(error)[:300]}") from error
        self._newest = coming
