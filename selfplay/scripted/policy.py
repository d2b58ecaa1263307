"""A policy without a model: a generator that yields calls and receives observations, played as any other policy."""

from collections.abc import Generator
from typing import TypeVar

from selfplay.agent.actions import Call, Observation

T = TypeVar("T")
Script = Generator[Call, Observation, T]
"""A script or a part of one: yields calls, receives observations, returns a value."""


class ScriptedPolicy:
    """Plays a script. When the script returns, the policy has nothing more to do."""

    def __init__(self, name: str, script: Script[None]) -> None:
        self.name = name
        self._script = script

    def act(self, observation: Observation | None) -> Call | None:
        try:
            return next(self._script) if observation is None else self._script.send(observation)
        except StopIteration:
            return None
