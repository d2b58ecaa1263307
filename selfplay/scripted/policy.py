"""A policy without a model: a generator that yields calls and receives observations, played as any other policy."""

import asyncio
from collections.abc import Generator
from typing import TypeVar

from selfplay.agent.actions import Call, Observation
from selfplay.agent.trajectory import Record

T = TypeVar("T")
Script = Generator[Call, Observation, T]
"""A script or a part of one: yields calls, receives observations, returns a value."""


class ScriptedPolicy:
    """Plays a script. When the script returns, the policy has nothing more to do."""

    def __init__(self, name: str, script: Script[None]) -> None:
        self.name = name
        self._script = script

    async def act(self, observation: Observation | None) -> Call | None:
        return await asyncio.to_thread(self._step, observation)

    def record(self) -> Record:
        """A script keeps nothing."""
        return Record()

    def _step(self, observation: Observation | None) -> Call | None:
        try:
            return next(self._script) if observation is None else self._script.send(observation)
        except StopIteration:
            return None
