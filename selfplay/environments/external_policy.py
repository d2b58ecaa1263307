"""A policy whose model runs elsewhere: its observations wait to be fetched, and its messages are handed in.

Calls, repairs, budgets and ends are those of every conversation (`agent/conversation.py`), so a trainer's model plays
by the same rules as our models.
"""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from selfplay.agent import EpisodeLimits, Policy
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.model import ContextFull, Message, Reply, Sampling
from selfplay.formatting import Say
from selfplay.roles.role import Role

OUTSIDE = "outside"
"""The policy's name, under which its episodes are filed."""
T = TypeVar("T")


class OutsideModel:
    """A `TextModel` for one episode."""

    name = OUTSIDE

    def __init__(self) -> None:
        self._told: asyncio.Queue[tuple[Message, ...]] = asyncio.Queue()
        self._said: asyncio.Queue[Reply | None] = asyncio.Queue()

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """Wait for the message from outside. Raises `ContextFull` if the trainer stops the episode."""
        self._told.put_nowait(tuple(messages))
        said = await self._said.get()
        if said is None:
            raise ContextFull("the trainer ended the episode")
        return said

    async def told(self) -> tuple[Message, ...]:
        """The conversation so far; waits until the model must answer."""
        return await self._told.get()

    def say(self, text: str, cut_off: bool = False) -> None:
        """Hand in the model's message. `cut_off`: a token limit ended it."""
        self._said.put_nowait(Reply(text, length=cut_off))

    def stop(self) -> None:
        """End the messages: what was submitted so far counts."""
        self._said.put_nowait(None)


class OutsidePlayer:
    """A `Player` for one episode of `model`."""

    name, episodes = OUTSIDE, 0

    def __init__(self, limits: EpisodeLimits) -> None:
        self.model, self.limits = OutsideModel(), limits
        self.settings: Mapping[str, Any] = MappingProxyType({})

    async def open(self, say: Say) -> None:
        """The trainer opens its model."""

    def policy(self, role: Role[T], task: T) -> Policy:
        return ChatConversation(self.model, self.name, role.name, role.opening(task), toolset=role.toolset)

    async def close(self) -> None:
        """Nothing to free."""
