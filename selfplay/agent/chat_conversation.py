"""A conversation in messages, with a model behind a chat endpoint."""

from collections.abc import Sequence

from selfplay.agent.actions import Observation
from selfplay.agent.conversation import Answer, Conversation, Style, shown
from selfplay.agent.model import Message, MessageCount, TextModel
from selfplay.agent.toolset import Toolset
from selfplay.formatting import cap


class ChatConversation(Conversation):
    """Token ids are taped if the endpoint returns them; ids that it changed are drift."""

    def __init__(
        self,
        model: TextModel,
        name: str,
        role: str,
        opening: Sequence[Message],
        style: Style = Style(),
        *,
        toolset: Toolset,
        count: MessageCount | None = None,
    ) -> None:
        super().__init__(name, role, opening, style, toolset, count)
        self._model = model

    async def _next(self, observation: Observation | None) -> Answer:
        if observation is not None:
            self._observe(observation)
        tools = self.toolset.schemas if self.style.native else ()
        reply = await self._model.reply(self.messages, self._sampling(), tools)
        self.usage += reply.usage
        if reply.sample:
            self.tape.sampled(reply.sample)
        self.messages.append(Message("assistant", reply.text, reply.calls))
        return Answer(reply.text, reply.length, reply.calls, reply.thoughts)

    def _observe(self, observation: Observation) -> None:
        """Answer every native call by its id, even if one message has several."""
        text = shown(observation, cap(observation.output, self.style.observation_chars))
        calls = self.messages[-1].calls
        if calls:
            self.messages += [Message("tool", text, answers=call.id) for call in calls]
        else:
            self.messages.append(Message("user", text))
