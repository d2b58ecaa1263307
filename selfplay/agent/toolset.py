"""A toolset as a value: the tools of a role, how their calls are read and written, and what they run.

The textual call format, the schemas for native calls, the system prompt, the answers to malformed calls and the lessons
are derived from it: a new tool is one `Tool` in the toolset of its role.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.sandbox import Sandbox

COMMAND_SECONDS = 120.0
"""The time limit of one call."""
OBSERVATION_CHARS = 128 * 1024
"""What a tool keeps of an output (head and tail): the paper's 32,768 tokens at four characters each."""
Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class ToolContext:
    """What a tool works with. `most_seconds`: the time limit of this call; `hand_in`: the file names that a submission
    must contain, empty if the repository itself is submitted."""

    sandbox: Sandbox
    most_seconds: float
    hand_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolResult:
    """A tool's result. `submission`: the submitted folder, set by a submit.

    `malformed`: the call itself was wrong and nothing was run.
    """

    output: str
    exit_code: int = 0
    submission: str | None = None
    malformed: bool = False


class ToolFailed(Exception):
    """A tool failed; the text becomes the observation, so that the policy can repair the call."""


class BadCall(ToolFailed):
    """The call itself is wrong."""


class CallParseError(Exception):
    """Why a text is not a valid call of the tool in its tag; the model reads this text."""


class CannotFormatCall(ValueError):
    """A call that the textual format cannot write without changing it."""


@dataclass(frozen=True)
class TextForm:
    """How a call is written between the tags `<tool: NAME OPTIONS>` and `</tool>`.

    `read`: body and options -> arguments; raises `CallParseError`. `write`: arguments -> options (empty, or with a
    leading blank) and body; raises if they cannot be written. `options`: whether the tag may have options.
    """

    read: Callable[[str, str], dict[str, Any]]
    write: Callable[[Arguments], tuple[str, str]]
    options: bool = False


@dataclass(frozen=True)
class Tool:
    """One tool. `parameters`: the JSON schema of its arguments; `example`: arguments of a correct call, shown to
    models.

    `run` raises `ToolFailed` for what the policy can repair. `note` is added to the description if calls are text.
    `normal` turns equivalent arguments into the form that the textual format produces.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Arguments, ToolContext], ToolResult]
    form: TextForm
    example: Arguments
    note: str = ""
    normal: Callable[[Arguments], dict[str, Any]] = dict

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z_]{1,40}", self.name):
            raise ValueError(f"{self.name!r} is not a tool name: use lower-case letters and underscores, 40 at most")

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as one of the `tools` of a chat completion."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class Toolset:
    """The tools of a role, in the order in which the system prompt lists them."""

    name: str
    tools: tuple[Tool, ...]

    def __post_init__(self) -> None:
        if not self.tools or len(set(self.names)) < len(self.tools):
            raise ValueError(f"the toolset {self.name!r} needs at least one tool, and unique tool names")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    @property
    def schemas(self) -> tuple[dict[str, Any], ...]:
        """The `tools` of a chat completion."""
        return tuple(tool.schema for tool in self.tools)

    def find(self, name: str) -> Tool | None:
        """The tool of this name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def no_tool(self, name: str) -> str:
        """The answer to a call of a tool that does not exist."""
        return f"There is no tool {name!r}. The tools are: {', '.join(self.names)}."
