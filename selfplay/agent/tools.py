"""The four tools of the scaffold (bash, edit, create, submit), each acting inside the episode's sandbox.

The names and limits are CWM's (120 s a command, capped observations). Deviation: edit is exact search and replace
of one place, and says why it did nothing, since small models repair a named mistake and repeat an unnamed one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.agent.actions import Call, cap
from selfplay.artifact.files import decode, encode
from selfplay.sandbox import WORKDIR, Sandbox, SandboxError

COMMAND_SECONDS = 120.0
OBSERVATION_CHARS = 128 * 1024
"""The paper's 32,768 tokens at four characters each."""


@dataclass(frozen=True)
class ToolResult:
    """What a tool did; `submission` is set by a submit: the folder that holds what is handed in."""

    output: str
    exit_code: int = 0
    submission: str | None = None


class BadCall(Exception):
    """A call that cannot be carried out; its text is the observation that lets the policy repair it."""


def use(call: Call, sandbox: Sandbox, seconds_left: float) -> ToolResult:
    """Carry out `call`. A malformed call or a failed tool is a result with `exit_code` 1, never an exception."""
    tool = TOOLS.get(call.tool)
    if tool is None:
        return ToolResult(f"There is no tool {call.tool!r}. The tools are: {', '.join(TOOLS)}.", 1)
    try:
        return tool(call.arguments, sandbox, seconds_left)
    except BadCall as error:
        return ToolResult(f"{call.tool}: {error}", 1)


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise BadCall(f"needs {name!r}, a text")
    if "\0" in value and name != "content":
        raise BadCall(f"{name!r} holds a NUL character")
    try:
        encode(value)
    except UnicodeEncodeError as error:
        raise BadCall(f"{name!r} cannot be encoded: {error.reason}") from error
    return value


def _most(seconds_left: float) -> float:
    """What one call may take: its own limit or the episode's rest, with a moment for the last one."""
    return min(COMMAND_SECONDS, max(seconds_left, 1.0))


def _inside(path: str) -> str:
    return path if path.startswith("/") else f"{WORKDIR}/{path}"


def bash(arguments: Mapping[str, Any], sandbox: Sandbox, seconds_left: float) -> ToolResult:
    """Run a command from the repository root; stdout and stderr come back in the order written."""
    asked = arguments.get("timeout", COMMAND_SECONDS)
    if not isinstance(asked, int | float) or not asked > 0:
        raise BadCall("'timeout' is a number of seconds above 0")
    timeout = min(_most(seconds_left), asked)
    done = sandbox.run(_text(arguments, "command"), timeout=timeout, merge_stderr=True)
    output = cap(decode(done.stdout), OBSERVATION_CHARS)
    if done.timed_out:
        return ToolResult(f"{output}\n[killed after {timeout:.0f} s]", 124)
    return ToolResult(output, done.exit_code)


def edit(arguments: Mapping[str, Any], sandbox: Sandbox, seconds_left: float) -> ToolResult:
    """Replace the one place where `old` stands in `path` by `new`."""
    path, old, new = _inside(_text(arguments, "path")), _text(arguments, "old"), _text(arguments, "new")
    content = _read(sandbox, path)
    count = len(re.findall(f"(?={re.escape(old)})", content)) if old else 0
    if count != 1:
        found = "is not in" if count == 0 else f"stands {count} times in"
        raise BadCall(f"`old` {found} {path}; it must stand there exactly once")
    _write(sandbox, path, content.replace(old, new), seconds_left)
    return ToolResult(f"edited {path}")


def create(arguments: Mapping[str, Any], sandbox: Sandbox, seconds_left: float) -> ToolResult:
    """Write `content` to `path`, replacing what was there."""
    path = _inside(_text(arguments, "path"))
    _write(sandbox, path, _text(arguments, "content"), seconds_left)
    return ToolResult(f"wrote {path}")


def submit(arguments: Mapping[str, Any], sandbox: Sandbox, seconds_left: float) -> ToolResult:
    """Hand in the folder that holds the result; the last submission counts."""
    return ToolResult("submitted", submission=_inside(_text(arguments, "folder")))


def _read(sandbox: Sandbox, path: str) -> str:
    try:
        return decode(sandbox.read_file(path))
    except FileNotFoundError:
        raise BadCall(f"{path} does not exist") from None
    except SandboxError as error:
        raise BadCall(error.message) from error


def _write(sandbox: Sandbox, path: str, content: str, seconds_left: float) -> None:
    """Through a redirection, so that a file that exists keeps its mode (and a diff shows no change of it)."""
    command = ["sh", "-c", 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"', "sh", path]
    done = sandbox.run(command, timeout=_most(seconds_left), stdin=encode(content), merge_stderr=True)
    if done.exit_code != 0:
        raise BadCall(f"{path} cannot be written: {decode(done.stdout).strip()[-300:]}")


Tool = Callable[[Mapping[str, Any], Sandbox, float], ToolResult]
TOOLS: dict[str, Tool] = {"bash": bash, "edit": edit, "create": create, "submit": submit}
