"""The four tools of the scaffold (bash, edit, create, submit) as values: what a model is told of each.

How their calls are read and what they do is in `tool_use.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.agent import tool_use
from selfplay.agent.toolset import COMMAND_SECONDS, Tool, Toolset

_STRING = {"type": "string"}
_SECONDS = {"type": "number", "description": f"seconds, at most {COMMAND_SECONDS:.0f}"}
_PATHS = {"type": "array", "items": _STRING, "description": "the files that are asked for; none for a fix"}


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """A JSON schema."""
    return {"type": "object", "properties": dict(properties), "required": list(required)}


BASH = Tool(
    name="bash",
    description="Run a command from the repository root.",
    note="A time limit in seconds may be given, as here.",
    parameters=_object({"command": _STRING, "timeout": _SECONDS}, ["command"]),
    run=tool_use.bash,
    form=tool_use.BASH,
    example={"command": "ls -la && git log --oneline | head", "timeout": 60},
)
EDIT = Tool(
    name="edit",
    description="Replace the one place in a file where the text `old` stands by `new`.",
    note="The old text must stand in the file exactly once, spaces included.",
    parameters=_object(dict.fromkeys(("path", "old", "new"), _STRING), ["path", "old", "new"]),
    run=tool_use.edit,
    form=tool_use.EDIT,
    example={"path": "src/module.py", "old": "    return a + b", "new": "    return a - b"},
)
CREATE = Tool(
    name="create",
    description="Write a file, replacing what was there.",
    note="The path is the first line, the content follows.",
    parameters=_object({"path": _STRING, "content": _STRING}, ["path", "content"]),
    run=tool_use.create,
    form=tool_use.CREATE,
    example={"path": "/tmp/notes.txt", "content": "the first line of the file\n"},
)
SUBMIT = Tool(
    name="submit",
    description="Hand in. The last submission counts.",
    note="Write one path in each line where files are asked for, and nothing between the lines where they are not.",
    parameters=_object({"paths": _PATHS}, []),
    run=tool_use.submit,
    form=tool_use.SUBMIT,
    example={},
    normal=tool_use.normal_submit,
)
SSR_TOOLS = Toolset("ssr", (BASH, EDIT, CREATE, SUBMIT))
