"""A language model as an episode's policy: its observations, how its messages are read, and when it ends.

`Conversation` has the rules, `TokenConversation` follows them with an engine of token ids, and `ChatConversation` (in
`chat_conversation.py`) with an endpoint of messages. A message without a call ends the episode if something was
submitted; before that it is answered, at most `SILENT` times in a row. Malformed calls are answered at most `GARBLED`
times in a row.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from selfplay import prompts
from selfplay.agent import call_format, native_calls
from selfplay.agent.actions import Call, Finish, Malformed, Observation, Stop, Turn
from selfplay.agent.chat_format import MARK, ChatFormat
from selfplay.agent.model import ContextFull, Message, MessageCount, NativeCall, Sampling, TokenModel, Usage
from selfplay.agent.tape import Tape
from selfplay.agent.toolset import OBSERVATION_CHARS, Toolset
from selfplay.agent.trajectory import Record
from selfplay.formatting import cap

SILENT = 3
GARBLED = 10
NO_CALL = "Your message holds no call, and nothing has been submitted yet."
MOST_TOKENS = 65_536
OBSERVATION_TOKENS = 32_768
"""CWM's caps of an action and of an observation. Deviation: by default a message takes at most a quarter of the
context, since a small model that fills its context with noise could not continue."""
LEAST_SHOWN = 64
"""The episode ends when fewer ids than this are left for an observation."""


@dataclass(frozen=True)
class Style:
    """How a model is prompted. `native`: with the endpoint's own tool calls; `observation_chars`: the longest
    observation."""

    sampling: Sampling = field(default_factory=Sampling)
    native: bool = False
    observation_chars: int = OBSERVATION_CHARS


@dataclass(frozen=True)
class Answer:
    """A message of the model. `length`: a token limit cut it off; `thoughts`: reasoning that was kept apart from it."""

    text: str
    length: bool
    calls: tuple[NativeCall, ...] = ()
    thoughts: str = ""


class Conversation(ABC):
    """One episode of a model, or one stage of it; a `Policy`. `role` labels its tokens; `count` counts the model's
    messages and is shared by its episodes."""

    def __init__(
        self,
        name: str,
        role: str,
        opening: Sequence[Message],
        style: Style,
        toolset: Toolset,
        count: MessageCount | None = None,
    ) -> None:
        self.name, self.style, self.toolset = name, style, toolset
        self.messages = list(opening)
        self.tape = Tape(role)
        self.usage = Usage()
        self._count = count or MessageCount()
        self._thoughts: list[str] = []
        self._seconds: list[float] = []
        self._submitted = False
        self._silent = self._garbled = 0

    async def act(self, observation: Observation | None) -> Turn:
        """The model's next turn. Raises `ModelError` when the model does not answer."""
        if observation is not None:
            self._submitted |= observation.submitted
            if observation.malformed:
                self.messages[-1] = replace(self.messages[-1], malformed=True)
                self.tape.mark_malformed()
        started = time.monotonic()
        try:
            with self._count.awaiting():
                answer = await self._next(observation)
        except ContextFull:
            return Stop(finish=Finish.OUT_OF_CONTEXT)
        self._seconds.append(time.monotonic() - started)
        self._thoughts.append(answer.thoughts)
        return self._read(answer)

    @abstractmethod
    async def _next(self, observation: Observation | None) -> Answer:
        """Tell the model the result of its last call, and get its next message. Raises `ContextFull`."""

    def _sampling(self) -> Sampling:
        """Sampling settings of the next message; with a run seed, each message of an episode has its own seed."""
        sampling = self.style.sampling
        return sampling if sampling.seed is None else replace(sampling, seed=sampling.seed + self.usage.requests)

    def record(self) -> Record:
        """The messages and tokens so far."""
        thoughts = tuple(self._thoughts) if any(self._thoughts) else ()
        segments, seconds = self.tape.segments(), tuple(self._seconds)
        return Record(
            (tuple(self.messages),), segments, self.tape.drift, self.usage, thoughts, seconds, self.style.sampling
        )

    def _read(self, answer: Answer) -> Turn:
        if self.style.native:
            found = native_calls.read(answer.calls, answer.text, self.toolset, answer.length)
        else:
            found = call_format.parse(answer.text, self.toolset, answer.length)
        if not isinstance(found, Call):
            self._mark_last(malformed=found is not None or not self._submitted)
        if found is None:
            return self._without_call(answer)
        self._silent = 0
        if isinstance(found, Call):
            self._garbled = 0
            return found
        self._garbled += 1
        if self._garbled >= GARBLED:
            return Stop(found.said, Finish.MALFORMED)
        return replace(found, why=self._repair(found.why, found.tool))

    def _mark_last(self, malformed: bool) -> None:
        """Say of the last message, which holds no call, whether it should have, and cut its text, since noise may be
        endless. Its tokens are on the tape."""
        said = self.messages[-1]
        if malformed:
            self.tape.mark_malformed()
        self.messages[-1] = replace(said, content=cap(said.content, call_format.MOST_SAID), malformed=malformed)

    def _without_call(self, answer: Answer) -> Turn:
        words = answer.text[: call_format.MOST_SAID]
        if self._submitted:
            return Stop(words)
        self._silent += 1
        if self._silent >= SILENT:
            return Stop(words, Finish.NO_CALL)
        return Malformed(words, self._repair(NO_CALL, ""))

    def _repair(self, why: str, tried: str) -> str:
        """The answer to a malformed message: why it is malformed, and a correct call of the tool that it tried."""
        tool = self.toolset.find(tried) or self.toolset.tools[0]
        shown = call_format.example(tool, self.toolset)
        return prompts.render("malformed", why=why, native=self.style.native, example=shown)


def shown(observation: Observation, output: str) -> str:
    """An observation as the model reads it."""
    return prompts.render(
        "observation", output=output.rstrip(), exit_code=observation.exit_code, budget=observation.budget.text
    )


class TokenConversation(Conversation):
    """A conversation in ids: the prompt of a turn is the tape so far. Observations are encoded once and appended,
    answers are kept as they were sampled, with their log-probabilities, as float32, and the first and last weight
    version of each. An engine that saw other ids than the tape's begins a new segment (`tape.py`).

    An observation is cut three times: a command's output by its tool, in characters; to `observation_chars`; and here
    in tokens, so that an answer still fits. If even that is not enough, the episode ends as out of context."""

    def __init__(
        self,
        model: TokenModel,
        chat: ChatFormat,
        role: str,
        opening: Sequence[Message],
        style: Style = Style(),
        *,
        toolset: Toolset,
        count: MessageCount | None = None,
    ) -> None:
        super().__init__(model.name, role, opening, style, toolset, count)
        self._model, self._chat = model, chat
        self._reserve = min(1024, model.context // 8)
        self._last: int | None = None
        self.tape.add(chat.opening(opening))

    async def _next(self, observation: Observation | None) -> Answer:
        if observation is not None:
            self._observe(observation)
        room = self._model.context - len(self.tape.ids)
        if room < self._reserve:
            raise ContextFull(f"{len(self.tape.ids)} of {self._model.context} tokens are used")
        sampling = self._sampling()
        asked = sampling.max_tokens or min(MOST_TOKENS, self._model.context // 4)
        wanted = replace(sampling, max_tokens=min(asked, room))
        sample = await self._model.sample(self.tape.ids, wanted, self._chat.stop)
        self.usage += Usage(1, 0, len(self.tape.ids), 0, len(sample.ids))
        self.tape.sampled(sample)
        self._last = sample.ids[-1] if sample.ids else None
        text = self._chat.answer_text(sample.ids)
        self.messages.append(Message("assistant", text))
        return Answer(text, sample.length)

    def _observe(self, observation: Observation) -> None:
        used = len(self.tape.ids) + self._chat.overhead + self._reserve
        room = min(OBSERVATION_TOKENS, self._model.context - used)
        if room < LEAST_SHOWN:
            raise ContextFull(f"{len(self.tape.ids)} of {self._model.context} tokens are used")
        before, _, after = shown(observation, MARK).partition(MARK)
        output = cap(observation.output.rstrip(), self.style.observation_chars)
        told = self._chat.cut_to_fit(output, room, before, after)
        self.tape.add(self._chat.observation_ids(self._last, told))
        self.messages.append(Message("user", told))
