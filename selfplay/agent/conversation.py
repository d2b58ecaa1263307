"""A language model as an episode's policy: what it is told, what its messages are read as, when it has ended.

The rules are the same for text and for token ids; `ChatConversation` speaks to an endpoint in messages, and
`token_conversation.TokenConversation` in ids. A message without a call ends the episode once something is submitted;
before that it is answered, `SILENT` times in a row at most, as malformed calls are `GARBLED` times.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from selfplay import prompts
from selfplay.agent import call_format, native_calls
from selfplay.agent.actions import Call, Finish, Malformed, Observation, Stop, Turn, cap
from selfplay.agent.model import ContextFull, Message, NativeCall, Sampling, TextModel, Usage
from selfplay.agent.tape import Tape
from selfplay.agent.tools import OBSERVATION_CHARS
from selfplay.agent.trajectory import Record

SILENT = 3
GARBLED = 10
NO_CALL = "Your message holds no call, and nothing has been submitted yet."
EXAMPLES = {
    "edit": "path/of/file\n<<<<<<< SEARCH\nold text\n=======\nnew text\n>>>>>>> REPLACE",
    "create": "path/of/file\ncontent",
    "submit": "path/of/a/file",
}


@dataclass(frozen=True)
class Style:
    """How a model is spoken to. `native`: its endpoint's own tool calls; `observation_chars`: what it reads at once."""

    sampling: Sampling = field(default_factory=Sampling)
    native: bool = False
    observation_chars: int = OBSERVATION_CHARS


@dataclass(frozen=True)
class Said:
    """A message of the model. `thoughts`: reasoning that was kept apart from it."""

    text: str
    length: bool
    calls: tuple[NativeCall, ...] = ()
    thoughts: str = ""


class Conversation(ABC):
    """One episode's talk with a model; an `AsyncPolicy`."""

    def __init__(self, name: str, role: str, opening: Sequence[Message], style: Style) -> None:
        self.name, self.style = name, style
        self.messages = list(opening)
        self.tape = Tape(role)
        self.usage = Usage()
        self._thoughts: list[str] = []
        self._submitted = self._submitting = False
        self._silent = self._garbled = 0

    async def decide(self, observation: Observation | None) -> Turn:
        """The model's next turn. Raises `ModelError` when it cannot be had."""
        if observation is not None:
            self._submitted |= self._submitting and observation.ok
            if observation.malformed:
                self.messages[-1] = replace(self.messages[-1], malformed=True)
        try:
            said = await self._next(observation)
        except ContextFull:
            return Stop(finish=Finish.OUT_OF_CONTEXT)
        self._thoughts.append(said.thoughts)
        return self._turn(said)

    @abstractmethod
    async def _next(self, observation: Observation | None) -> Said:
        """Tell the model what its last call gave, and get its next message. Raises `ContextFull`."""

    def _sampling(self) -> Sampling:
        """How the next message is drawn: each of an episode with a seed of its own, where there is one."""
        sampling = self.style.sampling
        return sampling if sampling.seed is None else replace(sampling, seed=sampling.seed + self.usage.requests)

    def record(self) -> Record:
        """What was told and sampled so far."""
        thoughts = tuple(self._thoughts) if any(self._thoughts) else ()
        return Record((tuple(self.messages),), self.tape.segments(), self.tape.drift, self.usage, thoughts)

    def _turn(self, said: Said) -> Turn:
        if self.style.native:
            found = native_calls.read(said.calls, said.text, said.length)
        else:
            found = call_format.parse(said.text, said.length)
        self._submitting = isinstance(found, Call) and found.tool == "submit"
        if not isinstance(found, Call):
            self._spoil(found is not None or not self._submitted)
        if found is None:
            return self._without_call(said)
        self._silent = 0
        if isinstance(found, Call):
            self._garbled = 0
            return found
        self._garbled += 1
        if self._garbled >= GARBLED:
            return Stop(found.said, Finish.MALFORMED)
        return replace(found, why=self._repair(found.why))

    def _spoil(self, malformed: bool) -> None:
        """The last message holds no call: noise without end is cut, the engine gave its tokens already."""
        said = self.messages[-1]
        self.messages[-1] = replace(said, content=cap(said.content, call_format.MOST_SAID), malformed=malformed)

    def _without_call(self, said: Said) -> Turn:
        words = said.text[: call_format.MOST_SAID]
        if self._submitted:
            return Stop(words)
        self._silent += 1
        if self._silent >= SILENT:
            return Stop(words, Finish.NO_CALL)
        return Malformed(words, self._repair(NO_CALL))

    def _repair(self, why: str) -> str:
        tool = next((name for name in EXAMPLES if why.startswith((f"{name}:", f"The call of {name} "))), "bash")
        body = EXAMPLES.get(tool, "ls")
        return prompts.render("malformed", why=why, native=self.style.native, example=tool, body=body)


def shown(observation: Observation, output: str) -> str:
    """What a model reads of an observation."""
    return prompts.render(
        "observation", output=output.rstrip(), exit_code=observation.exit_code, budget=observation.budget.text
    )


class ChatConversation(Conversation):
    """Speaks in messages. Where the endpoint returns token ids, they are taped; what it changed in them is drift."""

    def __init__(
        self, model: TextModel, name: str, role: str, opening: Sequence[Message], style: Style = Style()
    ) -> None:
        super().__init__(name, role, opening, style)
        self._model = model

    async def _next(self, observation: Observation | None) -> Said:
        if observation is not None:
            self._hear(observation)
        tools = native_calls.SCHEMAS if self.style.native else ()
        reply = await self._model.reply(self.messages, self._sampling(), tools)
        self.usage += reply.usage
        if reply.sample:
            self.tape.sampled(reply.sample)
        self.messages.append(Message("assistant", reply.text, reply.calls))
        return Said(reply.text, reply.length, reply.calls, reply.thoughts)

    def _hear(self, observation: Observation) -> None:
        """Every native call must be answered by its id, also where several came at once."""
        text = shown(observation, cap(observation.output, self.style.observation_chars))
        calls = self.messages[-1].calls
        if calls:
            self.messages += [Message("tool", text, answers=call.id) for call in calls]
        else:
            self.messages.append(Message("user", text))
