"""What an episode needs from a language model: two small protocols, one for text and one for token ids.

Training needs the second: the sampled ids, their log-probabilities, and the weight versions that sampled them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from selfplay.errors import SelfplayError

ChatRole = Literal["system", "user", "assistant", "tool"]


class ModelError(SelfplayError):
    """A model that cannot be used or does not answer: a wrong key, an unknown name, a wrong address."""


@dataclass(frozen=True)
class NativeCall:
    """A native tool call as an endpoint returns it; `arguments` is JSON text that the model wrote."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One message of a conversation. `answers`: the native call that a `tool` message belongs to.

    `malformed`: a model message whose call was wrong; training does not imitate it.
    """

    role: ChatRole
    content: str
    calls: tuple[NativeCall, ...] = ()
    answers: str = ""
    malformed: bool = False


@dataclass(frozen=True)
class Sampling:
    """How tokens are sampled. Training samples at temperature 1 and top_p 1: otherwise the tokens are not samples of
    the policy itself.

    `max_tokens` limits one message; None: as many as the engine and its context allow.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Sample:
    """Sampled tokens, each with its log-probability. `length`: a token limit cut it off.

    `prompt`: the ids the engine says it was given. `versions`: the first and the last weight version that sampled.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    length: bool
    prompt: Sequence[int]
    versions: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Usage:
    """What a model's answers cost. `cost` is in the currency of the prices given, 0 without prices."""

    requests: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Reply:
    """A model's message. `sample`: its tokens, where the endpoint returns them. `thoughts`: reasoning that an endpoint
    keeps apart; it is stored and never sent back."""

    text: str
    calls: tuple[NativeCall, ...] = ()
    thoughts: str = ""
    length: bool = False
    sample: Sample | None = None
    usage: Usage = field(default_factory=Usage)


class ContextFull(Exception):
    """The conversation no longer fits into the model's context."""


@dataclass
class MessageCount:
    """How many messages a model gave so far, and how many are awaited, over all its episodes."""

    given: int = 0
    awaited: int = 0

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """Counts one message as awaited inside the context, and as given afterwards unless an exception is raised."""
        self.awaited += 1
        try:
            yield
        finally:
            self.awaited -= 1
        self.given += 1


class TextModel(Protocol):
    """A model behind a chat endpoint. One object serves many episodes at once."""

    name: str

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """The next message. `tools`: schemas of native calls. Raises `ModelError`, or `ContextFull`."""
        ...


class TokenModel(Protocol):
    """A model that takes and returns token ids. `context`: its length in tokens, prompt and answer together."""

    name: str
    context: int

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        """Tokens after `prompt`, up to and including one of `stop`. Cancelling frees its slot. Raises `ModelError`."""
        ...
