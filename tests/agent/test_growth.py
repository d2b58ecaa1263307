"""Whatever reads a model's text costs time linear in it: twice the text takes about twice the time.

Measured in the thread's own processor time, so that a busy machine does not matter. `MOST` is 3, since the least time
of a few runs still varies; a quadratic function has 4, and 16 where the text is four times as long, as here.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from table_rows import long_rows

from selfplay.agent import Call, call_format, native_calls
from selfplay.agent.actions import Budget, Observation
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import Answer, shown
from selfplay.agent.episode import _readable
from selfplay.agent.model import Message, NativeCall, Sample
from selfplay.agent.tape import Tape
from selfplay.agent.tools import SSR_TOOLS
from selfplay.formatting import cap
from selfplay.policies.completion import Prices, read_reply

SMALL, TIMES = 25_000, 4
MOST = 3 * TIMES / 2
"""As 3 for a text that is twice as long."""
FREE = 0.02
"""Seconds below which growth cannot be measured and does not matter."""
ATOMS = [
    " ", "\t", "\n", "\r\n", " \n", "<", ">", "=", "`", "```\n", "x", "é", "\ud83d", "\0", '"', "\\", "{", "[", "]",
    "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "<think>", "</think>", "<thinking>\n", "<tool", "<tool:",
    "<tool: ", "<tool: bash>", "<tool: bash>\n", "<tool: bash> ", "<tool: bash timeout=", "<tool: bash>\r\n",
    "</tool>", "</tool>\n", "\n </tool>", "<tool: bash>\nls\n</tool>\n", "<tool: edit>\n<<<<<<< SEARCH\n",
    "<think><tool: bash>", "<tool: bash></think>", "a/", "a\n", "</tool",
]  # fmt: skip
AROUND = [
    ("", ""), ("", "</tool>"), ("", "\n</tool>"), ("<tool: bash>\n", "\n</tool>"), ("<tool: bash>", "x</tool>"),
    ("<tool: edit>\na\n", "\n>>>>>>> REPLACE\n</tool>"), ("<tool: create>\n", "\n</tool>"),
    ("<tool: submit>\n", "\n</tool>"), ("<think>", "</think>"), ("<tool: bash ", ">\nls\n</tool>"),
]  # fmt: skip


def text(atom: str, size: int, around: tuple[str, str] = ("", "")) -> str:
    return around[0] + atom * (size // len(atom)) + around[1]


def seconds(function: Callable[[str], Any], said: str) -> float:
    """The least of a few runs."""
    found = []
    for _ in range(3):
        started = time.thread_time()
        function(said)
        found.append(time.thread_time() - started)
        if found[-1] < FREE:
            break
    return min(found)


def superlinear(function: Callable[[str], Any], pairs: Sequence[tuple[str, tuple[str, str]]]) -> Iterator[str]:
    """What makes the function slow."""
    for atom, around in pairs:
        large = seconds(function, text(atom, SMALL * TIMES, around))
        if large < FREE:
            continue
        small = seconds(function, text(atom, SMALL, around))
        if large > MOST * small + FREE:
            yield f"{around[0]!r} + n * {atom!r} + {around[1]!r}: {small:.3f} s, {TIMES} times as long {large:.3f} s"


class Letters:
    """A tokenizer of one id for each character, with the special tokens of a chat."""

    name, eos = "letters", (1,)

    def render(self, messages: Sequence[Any], answer: bool) -> str:
        return "".join(f"<|{m['role']}|>{m['content']}\x01" for m in messages) + "<|assistant|>" * answer

    def encode(self, said: str, special: bool) -> list[int]:
        return [ord(one) for one in said]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))

    def is_special(self, token: int) -> bool:
        return token == 1

    def names_special(self, said: str) -> bool:
        return "\x01" in said


CHAT = ChatFormat(Letters())
PRICES = Prices(0, 0, 0)


def answered(said: str) -> Any:
    """A conversation's reading of a message."""
    conversation = ChatConversation(None, "m", "solver", (Message("user", "t"),), toolset=SSR_TOOLS)  # type: ignore[arg-type]
    conversation.messages.append(Message("assistant", said))
    return conversation._read(Answer(said, False))


def taped(said: str) -> Any:
    tape = Tape("solver")
    ids = [ord(one) for one in said]
    tape.sampled(Sample(tuple(ids), (0.0,) * len(ids), False, ids))
    tape.sampled(Sample((1,), (0.0,), False, [*ids, *ids[:-1], 5]))
    return tape.segments()


def completed(said: str) -> Any:
    calls = [{"id": said, "function": {"name": said, "arguments": said}}]
    message = {
        "content": [{"text": said[at : at + 50]} for at in range(0, len(said), 50)],
        "tool_calls": calls,
        "reasoning": said,
    }
    return read_reply({"choices": [{"message": message}]}, 0, PRICES)


OBSERVATION = Observation("", 1, Budget(3, 4))
READERS: dict[str, Callable[[str], Any]] = {
    "parse": lambda said: call_format.parse(said, SSR_TOOLS),
    "parse, cut off": lambda said: call_format.parse(said, SSR_TOOLS, cut_off=True),
    "without_thoughts": call_format.without_thoughts,
    "conversation": answered,
    "native arguments": lambda said: native_calls.read([NativeCall("1", "bash", said)], said, SSR_TOOLS),
    "native text": lambda said: native_calls.read([NativeCall("1", said, json.dumps({"a": said}))], "", SSR_TOOLS),
    "cap": lambda said: cap(said, 1000),
    "readable": _readable,
    "shown": lambda said: shown(OBSERVATION, said),
    "heard": lambda said: CHAT.observation_ids(1, said),
    "fitting": lambda said: CHAT.cut_to_fit(said, 1000, "a", "b"),
    "opening": lambda said: CHAT.opening([Message("system", said), Message("user", said)]),
    "said": lambda said: CHAT.answer_text([ord(one) for one in said]),
    "tape": taped,
    "completion": completed,
}
for tool in SSR_TOOLS.tools:
    READERS[f"read {tool.name}"] = lambda said, tool=tool: _try(tool.form.read, said, "")  # type: ignore[misc]
    READERS[f"options of {tool.name}"] = lambda said, tool=tool: _try(tool.form.read, "ls", said)  # type: ignore[misc]


def _try(read: Callable[[str, str], Any], *arguments: str) -> Any:
    try:
        return read(*arguments)
    except Exception as error:
        return error


@pytest.mark.parametrize("name", long_rows(READERS))
@pytest.mark.slow
def test_reading_costs_time_linear_in_the_text(name: str) -> None:
    around = AROUND if name.startswith(("parse", "without", "conversation")) else [("", "")]
    atoms = ATOMS[:1] if name == "tape" else ATOMS  # what the ids are of does not matter
    assert list(superlinear(READERS[name], list(product(atoms, around)))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["command", "path", "old", "new", "content", "folder"])
def test_writing_costs_time_linear_in_the_text(name: str) -> None:
    tool = {"command": "bash", "content": "create", "folder": "submit"}.get(name, "edit")
    others = {"bash": {}, "create": {"path": "p"}, "submit": {}, "edit": {"path": "p", "old": "o", "new": "n"}}[tool]

    def write(said: str) -> Any:
        try:
            return call_format.write(Call(tool, {**others, name: said}), SSR_TOOLS)
        except call_format.CannotFormatCall as error:
            return error

    assert list(superlinear(write, [(atom, ("", "")) for atom in ATOMS])) == []
