"""A chat template in pieces of token ids: the opening once, then only what lies between two messages of the model.

Nothing is rendered twice. The pieces are what the template puts between the placeholders of a sample conversation, with
its special tokens. Contents are always encoded as plain text, so a repository that prints `<|im_end|>` cannot end a
message. Text without a special token's name is encoded together with its surroundings, as in the model's training.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from selfplay.agent.model import Message, ModelError

MARK = "mark{}mark"
SLACK = 8
"""How many ids a text may gain when it is cut and joined again."""


class Tokenizer(Protocol):
    """The part of a tokenizer that is used here. `eos`: ids that end a text."""

    @property
    def name(self) -> str: ...

    @property
    def eos(self) -> tuple[int, ...]: ...

    def render(self, messages: Sequence[Mapping[str, str]], answer: bool) -> str:
        """The messages in the chat template; `answer`: followed by the start of the model's next message. Raises
        `ModelError` without a template, `ValueError` for messages that the template does not accept."""
        ...

    def encode(self, text: str, special: bool) -> list[int]:
        """The text's ids, with nothing added; `special`: names of special tokens become these tokens."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, special tokens by their names."""
        ...

    def is_special(self, token: int) -> bool:
        """Whether the id is a special token's."""
        ...

    def names_special(self, text: str) -> bool:
        """Whether the text contains a special token's name."""
        ...


class ChatFormat:
    """How one tokenizer writes a conversation. Raises `ModelError` for a template that cannot be taken apart."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        roles = ("user", "assistant", "user")
        _, _, close, begin = self._around([Message(role, "") for role in roles])  # type: ignore[arg-type]
        self._around_observation = close, begin
        self._close = tokenizer.encode(close, True)
        self.overhead = len(self._close) + len(tokenizer.encode(begin, True))
        """How many ids surround a message that the model reads."""
        ends = self._close[:1] if self._close and tokenizer.is_special(self._close[0]) else []
        self.stop: tuple[int, ...] = tuple(dict.fromkeys([*ends, *tokenizer.eos]))

    def opening(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a conversation up to the start of the model's first message."""
        try:
            around = self._around(messages)
        except ValueError:  # the template has no system role: put its text before the first message
            first, second, *rest = messages
            messages = [Message(second.role, f"{first.content}\n\n{second.content}"), *rest]
            around = self._around(messages)
        return self._joined(around, [message.content.strip() for message in messages])

    def observation_ids(self, last: int | None, text: str) -> list[int]:
        """The ids that follow the model's message (whose last id was `last`): the end of that message, `text`, and the
        start of the next one."""
        ids = self._joined(self._around_observation, [text])
        return ids[1:] if self._close and last == self._close[0] else ids

    def cut_to_fit(self, text: str, limit: int, before: str, after: str) -> str:
        """`text` between `before` and `after`; its middle is cut out if all three together take more than `limit`
        ids."""
        whole = f"{before}{text}{after}"  # there are at most as many ids as bytes, and bytes count faster
        if len(whole.encode("utf-8", "surrogatepass")) < limit or len(self.tokenizer.encode(whole, False)) <= limit:
            return whole
        inner = self.tokenizer.encode(text, False)
        room = limit - len(self.tokenizer.encode(before + after, False))
        note = f"\n[... of {len(inner)} tokens {max(room, 0)} are shown ...]\n"
        half = max(0, room - len(self.tokenizer.encode(note, False)) - SLACK) // 2
        head, tail = self.tokenizer.decode(inner[:half]), self.tokenizer.decode(inner[len(inner) - half :])
        return f"{before}{head}{note}{tail}{after}"

    def answer_ids(self, text: str) -> list[int]:
        """The ids of a model message that was never sampled, with its end."""
        return [*self.tokenizer.encode(text, False), self.stop[0]]

    def _joined(self, around: Sequence[str], texts: Sequence[str]) -> list[int]:
        """The ids of the texts with their surroundings: encoded in one piece, or in parts if a text names a special
        token."""
        encode = self.tokenizer.encode
        if not any(self.tokenizer.names_special(text) for text in texts):
            return encode("".join(part for pair in zip(around, [*texts, ""], strict=True) for part in pair), True)
        ids = encode(around[0], True)
        for text, after in zip(texts, around[1:], strict=True):
            ids += encode(text, False) + encode(after, True)
        return ids

    def answer_text(self, ids: Sequence[int]) -> str:
        """The text of the model's message, without the token that ended it."""
        end = len(ids) - 1 if ids and ids[-1] in self.stop else len(ids)
        return self.tokenizer.decode(ids[:end])

    def _around(self, messages: Sequence[Message]) -> list[str]:
        """What the template puts before, between and after the contents."""
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
