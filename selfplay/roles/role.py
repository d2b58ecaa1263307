"""A role as a value. A new role is one `Role`, with a task and a prompt, in a small folder of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from selfplay.agent import Policy, Toolset
from selfplay.agent.conversation import Conversation
from selfplay.agent.model import Message
from selfplay.roles.prompt import opening

T = TypeVar("T")
Converse = Callable[[tuple[Message, ...]], Conversation]
"""Begins a conversation with a model."""


@dataclass(frozen=True)
class Role(Generic[T]):
    """A role whose task is a `T`. `hand_in`: the file names of a submission; empty if the repository itself is
    submitted. `prompt`: the task in words. `key`: a unique name for the task's episode in the run.

    `staged`: makes the policy for a model that plays the role in several conversations. It takes the task, the policy's
    name, a function that begins a conversation, the toolset, and whether calls are native. None for a role that is
    always one conversation.
    """

    name: str
    toolset: Toolset
    hand_in: tuple[str, ...]
    prompt: Callable[[T], str]
    key: Callable[[T], str]
    staged: Callable[[T, str, Converse, Toolset, bool], Policy] | None = None

    def opening(self, task: T, native: bool = False) -> tuple[Message, ...]:
        """The messages an episode begins with."""
        return opening(self.prompt(task), native, self.toolset)
