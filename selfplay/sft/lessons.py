"""Teacher data: successful episodes of any policy as supervised examples, for the cold start of a small model.

A model's episode becomes the messages it read and wrote. A script's becomes the messages a model would have read, with
its calls in the textual format; these are long programs that no model would write, so they are used only on request,
and demonstrations of the same bugs (`demonstrate.py`) teach better. What is written anew, prompt and calls, follows
from the toolset of the episode's role; an episode that cannot be written with it is left out, and counted under the
reason. Malformed calls stay in the conversation, so that the repair after them makes sense, but are not imitated
(`train` false, mask 0).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from selfplay.agent import Finish, Trajectory, call_format, native_calls
from selfplay.agent.actions import Call, Observation
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.conversation import shown
from selfplay.agent.model import Message
from selfplay.agent.toolset import Toolset
from selfplay.agent.trajectory_file import TrajectoryError, load
from selfplay.formatting import cap
from selfplay.rl.credit.rules import Outcome
from selfplay.roles.prompt import opening
from selfplay.sft.demonstration import FAREWELL
from selfplay.sft.successes import Success

SUCCEEDED: Mapping[str, Outcome] = {"injector": "valid", "solver": "resolved"}
"""The finish of every episode that is a lesson."""
CANNOT_SAY = "the call format cannot say it"
NO_SUCH_TOOL = "a tool that its role does not have"
NOTHING_GOOD = "no message that is worth imitating"
UNSAID = "calls that the call format cannot say"
"""Correct calls in lessons, which are not imitated."""
UNTRAINED = -100
"""The label of a token that is not learned: torch's loss, and so every trainer, ignores it."""


@dataclass(frozen=True)
class Lesson:
    """One example. `bug`: the bug it is about. `messages` end with a model's message; `malformed` ones are not
    imitated. `unsaid`: how many of them are calls that were right, but that the textual format cannot write."""

    id: str
    bug: str
    role: str
    policy: str
    messages: tuple[Message, ...]
    unsaid: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        """The prompt and the model's messages, without observations: equal for lessons that teach the same."""
        return tuple(m.content for at, m in enumerate(self.messages) if at < 2 or m.role == "assistant")

    def to_json(self, chat: ChatFormat | None, reward: float | None = None) -> dict[str, Any]:
        """A row: `messages` with `train`; with a tokenizer also its ids, exactly as in an episode, and their labels, in
        the columns of TRL and axolotl. `reward`: what the episode earned, None if unknown."""
        told = [
            {"role": m.role, "content": m.content, "train": m.role == "assistant" and not m.malformed}
            for m in self.messages
        ]
        about = {"id": self.id, "bug": self.bug, "role": self.role, "policy": self.policy}
        row = {**about, "outcome": SUCCEEDED[self.role], "reward": reward, "messages": told}
        return row if chat is None else {**row, **_columns(**tokens(self.messages, chat))}


class NoLesson(Exception):
    """Why a success is no lesson: a name under which it is counted."""


def lessons(success: Success, observation_chars: int) -> list[Lesson]:
    """The examples of an episode: one, or one per stage of a staged injector. Raises `NoLesson` if there is none, and
    `TrajectoryError`."""
    trajectory, toolset = load(success.path, linked=False), success.role.toolset
    name = success.path.name.removesuffix(".jsonl.zst")
    conversations = _ended(trajectory)
    if not conversations or any(map(_is_native, conversations)):  # its prompt and its calls are written anew
        _refuse_other_tools(trajectory, toolset)
    conversations = conversations or (_spoken(trajectory, success, observation_chars),)
    several = len(conversations) > 1
    found = [
        Lesson(f"{name}-{number}" if several else name, success.bug, success.role.name, trajectory.policy, kept, unsaid)
        for number, conversation in enumerate(conversations)
        for kept, unsaid in _textual(conversation, toolset)
    ]
    if not found:
        raise NoLesson(NOTHING_GOOD)
    return found


def tokens(messages: tuple[Message, ...], chat: ChatFormat) -> dict[str, list[int]]:
    """The ids of a conversation as in an episode with this tokenizer; `mask`: 1 for tokens to learn."""
    first = next(at for at, message in enumerate(messages) if message.role == "assistant")
    ids = chat.opening(messages[:first])
    mask = [0] * len(ids)
    last: int | None = None
    for message in messages[first:]:
        if message.role == "assistant":
            new = chat.answer_ids(message.content)
            last = new[-1]
        else:
            new = chat.observation_ids(last, message.content)
        ids += new
        mask += [int(message.role == "assistant" and not message.malformed)] * len(new)
    return {"ids": ids, "mask": mask}


def _columns(ids: list[int], mask: list[int]) -> dict[str, list[int]]:
    """The columns as trainers name them. axolotl recognises tokenized rows only by an `attention_mask`."""
    labels = [one if on else UNTRAINED for one, on in zip(ids, mask, strict=True)]
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}


def _refuse_other_tools(trajectory: Trajectory, toolset: Toolset) -> None:
    """Raises `NoLesson` if the episode used a tool that is not in the toolset."""
    if {step.call.tool for step in trajectory.steps if not step.malformed} - set(toolset.names):
        raise NoLesson(NO_SUCH_TOOL)


def _spoken(trajectory: Trajectory, success: Success, observation_chars: int) -> tuple[Message, ...]:
    """A script's episode as messages. Raises `NoLesson` if a call cannot be expressed."""
    toolset = success.role.toolset
    messages = list(opening(success.told, False, toolset))
    try:
        for step in trajectory.steps:
            if step.left is None:
                raise TrajectoryError(f"{trajectory.policy}: a step without its budget, from an earlier version")
            seen = Observation(step.output, step.exit_code, step.left)
            messages.append(
                Message("assistant", call_format.write(_rounded(step.call), toolset), malformed=step.malformed)
            )
            messages.append(Message("user", shown(seen, cap(step.output, observation_chars))))
    except call_format.CannotFormatCall as error:
        raise NoLesson(CANNOT_SAY) from error
    return (*messages, Message("assistant", FAREWELL))


def _ended(trajectory: Trajectory) -> tuple[tuple[Message, ...], ...]:
    """The conversations, without the last message if the episode was cut short: its call was never answered."""
    conversations = trajectory.record.conversations
    if trajectory.finish == Finish.SUBMITTED or not conversations or conversations[-1][-1].role != "assistant":
        return conversations
    return (*conversations[:-1], conversations[-1][:-1])


def _rounded(call: Call) -> Call:
    """Round the time limits: a script computes exact numbers, which a model would not write."""
    seconds = call.arguments.get("timeout")
    if not isinstance(seconds, float):
        return call
    return replace(call, arguments={**call.arguments, "timeout": math.ceil(seconds)})


def _is_native(conversation: tuple[Message, ...]) -> bool:
    return any(message.calls for message in conversation)


def _textual(conversation: tuple[Message, ...], toolset: Toolset) -> Iterator[tuple[tuple[Message, ...], int]]:
    """A conversation in the textual format up to the last message that is worth imitating, and how many of its calls
    that format cannot write; nothing without such a message. For one with native calls, the tools are described in the
    prompt; when several calls in one message got the same answer, it is written once."""
    system, native = opening("", False, toolset)[0], _is_native(conversation)
    kept = [
        (message, system if native and message.role == "system" else _in_text(message, toolset))
        for message, before in zip(conversation, (None, *conversation), strict=False)
        if not (message.role == "tool" and before and before.role == "tool")
    ]
    good = [at for at, (_, said) in enumerate(kept) if said.role == "assistant" and not said.malformed]
    if good:
        told = kept[: good[-1] + 1]
        yield tuple(said for _, said in told), sum(said.malformed and not was.malformed for was, said in told)


def _in_text(message: Message, toolset: Toolset) -> Message:
    """A message with native calls, in the textual format; `malformed` if that format cannot write its call."""
    if message.role == "tool":
        return replace(message, role="user", answers="")
    if not message.calls:
        return message
    found = native_calls.read(message.calls, message.content, toolset)
    if not isinstance(found, Call):
        return replace(message, calls=(), malformed=True)
    try:
        said = f"{message.content}\n\n{call_format.write(found, toolset)}".strip()
    except call_format.CannotFormatCall:
        return replace(message, calls=(), malformed=True)
    return replace(message, content=said, calls=())
