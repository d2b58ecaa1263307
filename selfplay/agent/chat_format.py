"""A chat template as pieces of token ids: the opening once, then only what lies between two messages of the model.

Nothing is ever rendered again. The pieces come from rendering a conversation of marks: what the template puts between
the marks is taken from it, with its special tokens; what stands in their place is always encoded as plain text, so a
repository that prints `<|im_end|>` cannot end a message. Text that names no special token is encoded together with what
is around it, which is how the model was trained to see it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from selfplay.agent.model import Message, ModelError

MARK = "mark{}mark"
SLACK = 8
"""Ids a text may take more where it is cut and joined again."""


class Tokenizer(Protocol):
    """What is needed of a tokenizer. `eos`: ids that end a text."""

    @property
    def name(self) -> str: ...

    @property
    def eos(self) -> tuple[int, ...]: ...

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

    def names_special(self, text: str) -> bool:
        """Whether a special token's name stands in the text."""
        ...


class ChatFormat:
    """How one tokenizer writes a conversation. Raises `ModelError` for a template that cannot be taken apart."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        roles = ("user", "assistant", "user")
        _, _, close, begin = self._around([Message(role, "") for role in roles])  # type: ignore[arg-type]
        self._around_heard = close, begin
        self._close = tokenizer.encode(close, True)
        self.overhead = len(self._close) + len(tokenizer.encode(begin, True))
        """Ids around what is heard."""
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
        return self._joined(around, [message.content.strip() for message in messages])

    def heard(self, last: int | None, text: str) -> list[int]:
        """What follows the model's message (whose last id was `last`): its end, `text`, its next one's begin."""
        ids = self._joined(self._around_heard, [text])
        return ids[1:] if self._close and last == self._close[0] else ids

    def fitting(self, text: str, limit: int, before: str, after: str) -> str:
        """`text` between `before` and `after`, its middle cut out where all together would take over `limit` ids."""
        whole = f"{before}{text}{after}"  # no more ids than bytes, which are quicker to count
        if len(whole.encode("utf-8", "surrogatepass")) < limit or len(self.tokenizer.encode(whole, False)) <= limit:
            return whole
        inner = self.tokenizer.encode(text, False)
        room = limit - len(self.tokenizer.encode(before + after, False))
        note = f"\n[... of {len(inner)} tokens {max(room, 0)} are shown ...]\n"
        half = max(0, room - len(self.tokenizer.encode(note, False)) - SLACK) // 2
        head, tail = self.tokenizer.decode(inner[:half]), self.tokenizer.decode(inner[len(inner) - half :])
        return f"{before}{head}{note}{tail}{after}"

    def answer(self, text: str) -> list[int]:
        """The ids of a message of the model that was never sampled, with its end."""
        return [*self.tokenizer.encode(text, False), self.stop[0]]

    def _joined(self, around: Sequence[str], texts: Sequence[str]) -> list[int]:
        """The ids of the texts with what is around them: at once where no text names a special token, else apart."""
        encode = self.tokenizer.encode
        if not any(self.tokenizer.names_special(text) for text in texts):
            return encode("".join(part for pair in zip(around, [*texts, ""], strict=True) for part in pair), True)
        ids = encode(around[0], True)
        for text, after in zip(texts, around[1:], strict=True):
            ids += encode(text, False) + encode(after, True)
        return ids

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
