"""What a role is, as a value: a new role is one of these, with a task and a prompt, in a small folder of its own."""

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
    """A role whose task is a `T`. `hand_in`: the names of the files that a submission holds; none where the repository
    itself is handed in. `prompt`: the task in words. `key`: a name of the task's episode that no other of a run has.

    `staged`: the role as a model plays it in several conversations, from its task, the policy's name, a way to begin a
    conversation, and whether calls are native; None for a role that is always one conversation.
    """

    name: str
    toolset: Toolset
    hand_in: tuple[str, ...]
    prompt: Callable[[T], str]
    key: Callable[[T], str]
    staged: Callable[[T, str, Converse, bool], Policy] | None = None

    def opening(self, task: T, native: bool = False) -> tuple[Message, ...]:
        """The messages an episode begins with."""
        return opening(self.prompt(task), native, self.toolset)
