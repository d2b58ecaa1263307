"""What gives every episode of a run its conversation: one model, shared, behind the text or the token protocol."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from selfplay.agent.actions import Observation, Turn
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import ChatConversation, Conversation, Style
from selfplay.agent.hands import AsyncPolicy
from selfplay.agent.model import Message, TokenModel
from selfplay.agent.token_conversation import TokenConversation
from selfplay.agent.trajectory import Record
from selfplay.policies.loop import LoopThread

if TYPE_CHECKING:  # imports the client, which not every policy needs
    from selfplay.policies.endpoint import Endpoint

PULSE_SECONDS, SLOWEST_PULSE = 20.0, 600.0


class Voice(Protocol):
    """A model that is ready to talk. It lives on one event loop."""

    name: str

    def conversation(self, role: str, opening: Sequence[Message], style: Style) -> Conversation:
        """A new conversation, which begins with `opening`."""
        ...

    async def close(self) -> None:
        """Free the model."""
        ...


class EndpointVoice:
    """Speaks through an endpoint."""

    def __init__(self, endpoint: "Endpoint") -> None:
        self.name = f"openai:{endpoint.name}"
        self._endpoint = endpoint

    def conversation(self, role: str, opening: Sequence[Message], style: Style) -> Conversation:
        return ChatConversation(self._endpoint, self.name, role, opening, style)

    async def close(self) -> None:
        await self._endpoint.close()


@dataclass
class Pulse:
    """That a model is at work, which may not show for an hour: how many messages came and how many are awaited."""

    came: int = 0
    awaited: int = 0

    async def beat(self, say: Callable[[str], None], first: float = PULSE_SECONDS) -> None:
        """Say it after `first` seconds and then ever less often, while messages are awaited."""
        seconds = first
        while True:
            await asyncio.sleep(seconds)
            if self.awaited:
                say(f"the model gave {self.came} messages so far, {self.awaited} awaited")
                seconds = min(2 * seconds, SLOWEST_PULSE)


class OnLoop:
    """An asynchronous policy that a thread without an event loop may ask, too."""

    def __init__(self, policy: AsyncPolicy, loop: LoopThread, pulse: "Pulse | None" = None) -> None:
        self.name = policy.name
        self._policy, self._loop, self._pulse = policy, loop, pulse or Pulse()

    async def decide(self, observation: Observation | None) -> Turn:
        self._pulse.awaited += 1
        try:
            turn = await self._policy.decide(observation)
        finally:
            self._pulse.awaited -= 1
        self._pulse.came += 1
        return turn

    def act(self, observation: Observation | None) -> Turn:
        return self._loop.run(self.decide(observation))

    def record(self) -> Record:
        record = getattr(self._policy, "record", None)
        return record() if record else Record()


class Tokens(TokenModel, Protocol):
    """A token model that can be closed."""

    async def close(self) -> None:
        """Free the model."""
        ...


class TokenVoice:
    """Speaks in token ids, by the model's own chat template."""

    def __init__(self, model: Tokens, chat: ChatFormat) -> None:
        self.name = model.name
        self._model, self._chat = model, chat

    def conversation(self, role: str, opening: Sequence[Message], style: Style) -> Conversation:
        return TokenConversation(self._model, self._chat, role, opening, style)

    async def close(self) -> None:
        await self._model.close()
