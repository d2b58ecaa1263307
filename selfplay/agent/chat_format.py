"""A chat template as pieces of token ids: the opening once, then only what lies between two messages of the model.

Nothing is ever rendered again. The pieces come from rendering a conversation of marks: what the template puts between
the marks is taken from it, with its special tokens; what stands in their place is always encoded as plain text, so a
repository that prints `<|im_end|>` cannot end a message.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from selfplay.agent.model import Message, ModelError

MARK = "mark{}mark"


class Tokenizer(Protocol):
    """What is needed of a tokenizer. `eos`: ids that end a text."""

    name: str
    eos: tuple[int, ...]

    def render(self, messages: Sequence[Mapping[str, str]], answer: bool) -> str:
        """The messages by the chat template; `answer`: with what begins the model's next message. Raises `ModelError`
        without a template, `ValueError` for messages that it does not take."""
        ...

    def encode(self, text: str, special: bool) -> list[int]:
        """Its ids and nothing added; `special`: names of special tokens are read as these tokens."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, special tokens by their names."""
        ...

    def is_special(self, token: int) -> bool:
        """Whether the id is a special token's."""
        ...


class ChatFormat:
    """How one tokenizer writes a conversation. Raises `ModelError` for a template that cannot be taken apart."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        roles = ("user", "assistant", "user")
        _, _, close, begin = self._around([Message(role, "") for role in roles])  # type: ignore[arg-type]
        self._close, self._open = tokenizer.encode(close, True), tokenizer.encode(begin, True)
        ends = self._close[:1] if self._close and tokenizer.is_special(self._close[0]) else []
        self.stop: tuple[int, ...] = tuple(dict.fromkeys([*ends, *tokenizer.eos]))

    def opening(self, messages: Sequence[Message]) -> list[int]:
        """The ids a conversation begins with, up to where the model's first message begins."""
        try:
            around = self._around(messages)
        except ValueError:  # a template without a system role: its text goes before the first message
            first, second, *rest = messages
            messages = [Message(second.role, f"{first.content}\n\n{second.content}"), *rest]
            around = self._around(messages)
        ids = self.tokenizer.encode(around[0], True)
        for message, after in zip(messages, around[1:], strict=True):
            ids += self.tokenizer.encode(message.content.strip(), False)
            ids += self.tokenizer.encode(after, True)
        return ids

    def between(self, last: int | None, ids: Sequence[int]) -> list[int]:
        """What follows the model's message, whose last id was `last`: its end, an observation, the next one's begin."""
        close = self._close[1:] if self._close and last == self._close[0] else self._close
        return [*close, *ids, *self._open]

    def answer(self, text: str) -> list[int]:
        """The ids of a message of the model that was never sampled, with its end."""
        return [*self.tokenizer.encode(text, False), self.stop[0]]

    @property
    def overhead(self) -> int:
        """Ids around one observation."""
        return len(self._close) + len(self._open)

    def plain(self, text: str, limit: int, before: str = "", after: str = "") -> list[int]:
        """`text` between `before` and `after` as plain text, at most `limit` ids: the middle of `text` is cut out."""
        ids = self.tokenizer.encode(f"{before}{text}{after}", False)
        if len(ids) <= limit:
            return ids
        head, inner, tail = (self.tokenizer.encode(part, False) for part in (before, text, after))
        room = limit - len(head) - len(tail)
        cut = self.tokenizer.encode(f"\n[... {len(inner)} tokens, {max(room, 0)} of them shown ...]\n", False)
        half = max(0, room - len(cut)) // 2
        return [*head, *inner[:half], *cut, *(inner[-half:] if half else ()), *tail][: max(limit, 0)]

    def said(self, ids: Sequence[int]) -> str:
        """The text of the model's message, without what ended it."""
        end = len(ids) - 1 if ids and ids[-1] in self.stop else len(ids)
        return self.tokenizer.decode(ids[:end])

    def _around(self, messages: Sequence[Message]) -> list[str]:
        """What the template puts before, between and behind the contents."""
        marks = [MARK.format(number) for number in range(len(messages))]
        marked = [{"role": message.role, "content": mark} for message, mark in zip(messages, marks, strict=True)]
        rest, around = self.tokenizer.render(marked, answer=True), []
        for mark in marks:
            before, found, rest = rest.partition(mark)
            if not found or mark in rest:
                raise ModelError(
                    f"{self.tokenizer.name}: the chat template does not give every message once and in order",
                    "Use a model whose template does, or serve it behind an endpoint (openai:MODEL).",
                )
            around.append(before)
        return [*around, rest]
