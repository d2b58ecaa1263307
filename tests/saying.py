"""A text model that says what it is given, and an episode with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playing import played

from selfplay.agent import EpisodeLimits, Toolset, Trajectory
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import Style
from selfplay.agent.model import Message, Reply, Sampling, Usage
from selfplay.agent.tools import SSR_TOOLS
from selfplay.sandbox import Sandbox

OPENING = (Message("system", "tools"), Message("user", "task"))
SUBMIT = "<tool: submit>\n</tool>"


def bash(command: str) -> str:
    return f"I try this.\n\n<tool: bash>\n{command}\n</tool>"


@dataclass
class Says:
    """A text model that says what it is given, the last of it for ever."""

    replies: Sequence[str | Reply | Exception]
    name: str = "says"
    heard: list[list[Message]] = field(default_factory=list)

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        said = self.replies[min(len(self.heard), len(self.replies) - 1)]
        self.heard.append(list(messages))
        if isinstance(said, Exception):
            raise said
        return Reply(said, usage=Usage(1, 0, 10, 0, 2)) if isinstance(said, str) else said


def play(
    sandbox: Sandbox,
    model: Says,
    native: bool = False,
    hand_in: tuple[str, ...] = (),
    limits: EpisodeLimits = EpisodeLimits(),
    toolset: Toolset = SSR_TOOLS,
    **style: Any,
) -> Trajectory:
    conversation = ChatConversation(
        model, "says", "solver", OPENING, Style(native=native, **style), toolset=toolset
    )  # fmt: skip
    return played(conversation, sandbox, "solver", limits, hand_in, toolset)
