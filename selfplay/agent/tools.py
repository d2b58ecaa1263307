"""The four tools of the scaffold (bash, edit, create, submit), each acting inside the episode's sandbox.

The names and limits are CWM's (120 s per command, capped observations). Deviations: edit is an exact search and replace
of one place and explains its failures, since small models fix only errors that are named. Files submitted by path are
copied at once, so later changes do not affect the submission.
"""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.agent import call_forms
from selfplay.agent.actions import cap
from selfplay.agent.toolset import COMMAND_SECONDS, BadCall, Tool, ToolContext, ToolFailed, ToolResult, Toolset
from selfplay.formatting import count
from selfplay.plain_text import decode, encode
from selfplay.sandbox import WORKDIR, Completed, Sandbox, SandboxError, SandboxGone
from selfplay.sandbox.kill_detection import unless_killed

OBSERVATION_CHARS = 128 * 1024
"""The paper's 32,768 tokens at four characters each."""


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


def _inside(path: str) -> str:
    return path if path.startswith("/") else f"{WORKDIR}/{path}"


def bash(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Run a command from the repository root; stdout and stderr come back in the order written."""
    asked = arguments.get("timeout", COMMAND_SECONDS)
    if not isinstance(asked, int | float) or not asked > 0:
        raise BadCall("'timeout' is a number of seconds above 0")
    timeout = min(context.most_seconds, asked)
    done = context.sandbox.run(_text(arguments, "command"), timeout=timeout, merge_stderr=True)
    output = cap(decode(done.stdout), OBSERVATION_CHARS)
    if done.timed_out:
        return ToolResult(f"{output}\n[killed after {timeout:.0f} s]", 124)
    return ToolResult(output, done.exit_code)


def edit(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Replace the only occurrence of `old` in `path` by `new`."""
    path, old, new = _inside(_text(arguments, "path")), _text(arguments, "old"), _text(arguments, "new")
    content = _read(context.sandbox, path)
    at = content.find(old) if old else -1
    if at < 0:
        raise ToolFailed(f"`old` does not occur in {path}; it must occur exactly once")
    if content.find(old, at + 1) >= 0:  # finds overlapping places too
        times = max(2, content.count(old))
        raise ToolFailed(f"`old` occurs {count(times, 'time')} in {path}; it must occur exactly once")
    _write(context, path, content[:at] + new + content[at + len(old) :])
    return ToolResult(f"edited {path}")


def create(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Write `content` to `path`, replacing what was there."""
    path = _inside(_text(arguments, "path"))
    _write(context, path, _text(arguments, "content"))
    return ToolResult(f"wrote {path}")


def submit(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Submit the folder with the result, or files by their paths; the last submission counts."""
    paths = arguments.get("paths") or [_text({"folder": ".", **arguments}, "folder")]
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) and path for path in paths):
        raise BadCall("'paths' is a list of file paths")
    if context.hand_in and len(paths) > 1:
        return ToolResult("submitted", submission=_copied(paths, context))
    folder = _inside(_text({"path": paths[0]}, "path"))  # the repository's root, or the folder with the files
    _refuse_missing([f"{folder}/{name}" for name in context.hand_in], context)
    return ToolResult("submitted", submission=folder)


def _copied(paths: Sequence[str], context: ToolContext) -> str:
    """A new folder with the submitted files as they are now."""
    named = {posixpath.basename(path): _inside(_text({"path": path}, "path")) for path in paths}
    absent = [name for name in context.hand_in if name not in named]
    if absent:
        raise ToolFailed(
            f"{', '.join(absent)} not among the paths; hand in {', '.join(context.hand_in)}, one path a line"
        )
    wanted = [named[name] for name in context.hand_in]
    _refuse_missing(wanted, context)
    command = ["sh", "-c", 'd=$(mktemp -d /tmp/submission.XXXXXX) && cp -- "$@" "$d" && echo "$d"', "sh", *wanted]
    done = _own(context, command)
    if done.exit_code != 0:
        raise ToolFailed(f"the files cannot be copied: {decode(done.stdout).strip()[-300:]}")
    return decode(done.stdout).strip()


def _refuse_missing(paths: list[str], context: ToolContext) -> None:
    check = ["sh", "-c", 'for f in "$@"; do [ -f "$f" ] && [ -s "$f" ] || echo "$f"; done', "sh", *paths]
    if not paths:
        return
    done = _own(context, check)
    if done.exit_code != 0:  # the paths are too long for one command
        raise ToolFailed("the files cannot be checked; nothing was submitted")
    missing = decode(done.stdout).split("\n")[:-1]
    if missing:
        raise ToolFailed(f"{', '.join(missing)} does not exist or is empty; nothing was submitted")


def _own(context: ToolContext, command: list[str], stdin: bytes = b"") -> Completed:
    """Run one of our own programs, which never kills itself. Raises `SandboxLost` if it was killed."""
    done = context.sandbox.run(command, timeout=context.most_seconds, stdin=stdin, merge_stderr=True)
    return unless_killed(done, command[0])


def _read(sandbox: Sandbox, path: str) -> str:
    try:
        return decode(sandbox.read_file(path))
    except FileNotFoundError:
        raise ToolFailed(f"{path} does not exist") from None
    except SandboxGone:
        raise
    except SandboxError as error:
        raise ToolFailed(error.message) from error


def _write(context: ToolContext, path: str, content: str) -> None:
    """Write through a redirection, so that an existing file keeps its mode (and a diff shows no mode change)."""
    command = ["sh", "-c", 'mkdir -p -- "$2" && cat > "$1"', "sh", path, posixpath.dirname(path) or "."]
    done = _own(context, command, encode(content))
    if done.exit_code != 0:
        raise ToolFailed(f"{path} cannot be written: {decode(done.stdout).strip()[-300:]}")


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
    run=bash,
    form=call_forms.BASH,
    example={"command": "ls -la && git log --oneline | head", "timeout": 60},
)
EDIT = Tool(
    name="edit",
    description="Replace the one place in a file where the text `old` stands by `new`.",
    note="The old text must stand in the file exactly once, spaces included.",
    parameters=_object(dict.fromkeys(("path", "old", "new"), _STRING), ["path", "old", "new"]),
    run=edit,
    form=call_forms.EDIT,
    example={"path": "src/module.py", "old": "    return a + b", "new": "    return a - b"},
)
CREATE = Tool(
    name="create",
    description="Write a file, replacing what was there.",
    note="The path is the first line, the content follows.",
    parameters=_object({"path": _STRING, "content": _STRING}, ["path", "content"]),
    run=create,
    form=call_forms.CREATE,
    example={"path": "/tmp/notes.txt", "content": "the first line of the file\n"},
)
SUBMIT = Tool(
    name="submit",
    description="Hand in. The last submission counts.",
    note="Write one path in each line where files are asked for, and nothing between the lines where they are not.",
    parameters=_object({"paths": _PATHS}, []),
    run=submit,
    form=call_forms.SUBMIT,
    example={},
    normal=call_forms.normal_submit,
)
SSR_TOOLS = Toolset("ssr", (BASH, EDIT, CREATE, SUBMIT))
