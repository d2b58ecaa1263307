"""A policy without a model: a generator that yields calls and receives observations, played like any other policy."""

import asyncio
from collections.abc import Generator
from typing import TypeVar

from selfplay.agent.actions import Call, Finish, Observation, Stop, Turn
from selfplay.agent.trajectory import Record

T = TypeVar("T")
Script = Generator[Call, Observation, T]
"""A script or a part of one: yields calls, receives observations, returns a value."""


class Stuck(Exception):
    """The script cannot go on. The message says why, in one sentence that a person can read."""


class ScriptedPolicy:
    """Plays a script. When the script returns, the policy has nothing more to do; when it is stuck, it gives up."""

    def __init__(self, name: str, script: Script[None]) -> None:
        self.name = name
        self._script = script

    async def act(self, observation: Observation | None) -> Turn:
        """The script's next call, computed in a thread, since parsing sources takes a while."""
        return await asyncio.to_thread(self._step, observation)

    def record(self) -> Record:
        """An empty record: a script has only its calls."""
        return Record()

    def _step(self, observation: Observation | None) -> Turn:
        try:
            return next(self._script) if observation is None else self._script.send(observation)
        except StopIteration:
            return Stop()
        except Stuck as stuck:
            return Stop(str(stuck), Finish.GAVE_UP)
