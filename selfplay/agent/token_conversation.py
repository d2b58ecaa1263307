"""A conversation in token ids: observations are encoded once and appended, answers are kept as they were sampled.

An observation that would fill the context is cut so that an answer still fits; where not even that helps, the episode
ends as out of context.
"""

from collections.abc import Sequence
from dataclasses import replace

from selfplay.agent.actions import Observation
from selfplay.agent.chat_format import MARK, ChatFormat
from selfplay.agent.conversation import Conversation, Said, Style, shown
from selfplay.agent.model import ContextFull, Message, TokenModel, Usage

MOST_TOKENS = 65_536
OBSERVATION_TOKENS = 32_768
"""CWM's caps of an action and of an observation. Deviation: unless asked, a message takes a quarter of the context at
most, since a small model that babbles to its end could not go on."""
LEAST_SHOWN = 64
"""Ids of an observation below which it is not worth going on."""


class TokenConversation(Conversation):
    """Speaks in ids."""

    def __init__(
        self, model: TokenModel, chat: ChatFormat, role: str, opening: Sequence[Message], style: Style = Style()
    ) -> None:
        super().__init__(model.name, role, opening, style)
        self._model, self._chat = model, chat
        self._reserve = min(1024, model.context // 8)
        self._last: int | None = None
        self.tape.add(chat.opening(opening))

    async def _next(self, observation: Observation | None) -> Said:
        if observation is not None:
            self._hear(observation)
        room = self._model.context - len(self.tape.ids)
        if room < self._reserve:
            raise ContextFull(f"{len(self.tape.ids)} of {self._model.context} tokens are used")
        sampling = self._sampling()
        asked = sampling.max_tokens or min(MOST_TOKENS, self._model.context // 4)
        sample = await self._model.sample(
            self.tape.ids, replace(sampling, max_tokens=min(asked, room)), self._chat.stop
        )
        self.usage += Usage(1, 0, len(self.tape.ids), 0, len(sample.ids))
        self.tape.sampled(sample)
        self._last = sample.ids[-1] if sample.ids else None
        text = self._chat.said(sample.ids)
        self.messages.append(Message("assistant", text))
        return Said(text, sample.length)

    def _hear(self, observation: Observation) -> None:
        used = len(self.tape.ids) + self._chat.overhead + self._reserve
        room = min(OBSERVATION_TOKENS, self._model.context - used)
        if room < LEAST_SHOWN:
            raise ContextFull(f"{len(self.tape.ids)} of {self._model.context} tokens are used")
        before, _, after = shown(observation, MARK).partition(MARK)
        told = self._chat.fitting(observation.output.rstrip(), room, before, after)
        self.tape.add(self._chat.heard(self._last, told))
        self.messages.append(Message("user", told))
