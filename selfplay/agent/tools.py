"""The four tools of the scaffold (bash, edit, create, submit), each acting inside the episode's sandbox.

The names and limits are CWM's (120 s a command, capped observations). Deviations: edit is exact search and replace
of one place, and says why it did nothing, since small models repair a named mistake and repeat an unnamed one; what
is submitted by paths is copied at once, so that a submission is what stood there then.
"""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selfplay.agent.actions import Call, cap
from selfplay.artifact.files import decode, encode
from selfplay.sandbox import WORKDIR, Sandbox, SandboxError

COMMAND_SECONDS = 120.0
OBSERVATION_CHARS = 128 * 1024
"""The paper's 32,768 tokens at four characters each."""


@dataclass(frozen=True)
class Desk:
    """What a tool works with. `hand_in`: the file names a submission must hold; none where it is the repository."""

    sandbox: Sandbox
    seconds_left: float
    hand_in: tuple[str, ...] = ()

    @property
    def most(self) -> float:
        """What one call may take: its own limit or the episode's rest, with a moment for the last one."""
        return min(COMMAND_SECONDS, max(self.seconds_left, 1.0))


@dataclass(frozen=True)
class ToolResult:
    """What a tool did; `submission` is set by a submit: the folder that holds what is handed in.

    `malformed`: the call itself was wrong, nothing was run.
    """

    output: str
    exit_code: int = 0
    submission: str | None = None
    malformed: bool = False


class Failed(Exception):
    """A tool that could not do what the call asks; its text is the observation that lets the policy repair it."""


class BadCall(Failed):
    """A call that is wrong in itself."""


def use(call: Call, desk: Desk) -> ToolResult:
    """Carry out `call`. A malformed call or a failed tool is a result with `exit_code` 1, never an exception."""
    tool = TOOLS.get(call.tool)
    if tool is None:
        return ToolResult(f"There is no tool {call.tool!r}. The tools are: {', '.join(TOOLS)}.", 1, malformed=True)
    try:
        return tool(call.arguments, desk)
    except Failed as error:
        return ToolResult(f"{call.tool}: {error}", 1, malformed=isinstance(error, BadCall))


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


def bash(arguments: Mapping[str, Any], desk: Desk) -> ToolResult:
    """Run a command from the repository root; stdout and stderr come back in the order written."""
    asked = arguments.get("timeout", COMMAND_SECONDS)
    if not isinstance(asked, int | float) or not asked > 0:
        raise BadCall("'timeout' is a number of seconds above 0")
    timeout = min(desk.most, asked)
    done = desk.sandbox.run(_text(arguments, "command"), timeout=timeout, merge_stderr=True)
    output = cap(decode(done.stdout), OBSERVATION_CHARS)
    if done.timed_out:
        return ToolResult(f"{output}\n[killed after {timeout:.0f} s]", 124)
    return ToolResult(output, done.exit_code)


def edit(arguments: Mapping[str, Any], desk: Desk) -> ToolResult:
    """Replace the one place where `old` stands in `path` by `new`."""
    path, old, new = _inside(_text(arguments, "path")), _text(arguments, "old"), _text(arguments, "new")
    content = _read(desk.sandbox, path)
    count = len(re.findall(f"(?={re.escape(old)})", content)) if old else 0
    if count != 1:
        found = "is not in" if count == 0 else f"stands {count} times in"
        raise Failed(f"`old` {found} {path}; it must stand there exactly once")
    _write(desk, path, content.replace(old, new))
    return ToolResult(f"edited {path}")


def create(arguments: Mapping[str, Any], desk: Desk) -> ToolResult:
    """Write `content` to `path`, replacing what was there."""
    path = _inside(_text(arguments, "path"))
    _write(desk, path, _text(arguments, "content"))
    return ToolResult(f"wrote {path}")


def submit(arguments: Mapping[str, Any], desk: Desk) -> ToolResult:
    """Hand in the folder that holds the result, or files by their paths; the last submission counts."""
    if "paths" not in arguments:
        folder = _inside(_text(arguments, "folder"))
        _refuse_missing([f"{folder}/{name}" for name in desk.hand_in], desk)
        return ToolResult("submitted", submission=folder)
    paths = arguments["paths"]
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) and path for path in paths):
        raise BadCall("'paths' is a list of file paths")
    if not desk.hand_in or len(paths) == 1:  # the repository's root, or a folder that holds the files
        return submit({"folder": _text({"path": paths[0] if paths else "."}, "path")}, desk)
    return ToolResult("submitted", submission=_copied(paths, desk))


def _copied(paths: Sequence[str], desk: Desk) -> str:
    """A folder of its own with the submitted files as they are now."""
    named = {posixpath.basename(path): _inside(_text({"path": path}, "path")) for path in paths}
    absent = [name for name in desk.hand_in if name not in named]
    if absent:
        raise Failed(f"{', '.join(absent)} not among the paths; hand in {', '.join(desk.hand_in)}, one path a line")
    wanted = [named[name] for name in desk.hand_in]
    _refuse_missing(wanted, desk)
    command = ["sh", "-c", 'd=$(mktemp -d /tmp/submission.XXXXXX) && cp -- "$@" "$d" && echo "$d"', "sh", *wanted]
    done = desk.sandbox.run(command, timeout=desk.most, merge_stderr=True)
    if done.exit_code != 0:
        raise Failed(f"the files cannot be copied: {decode(done.stdout).strip()[-300:]}")
    return decode(done.stdout).strip()


def _refuse_missing(paths: list[str], desk: Desk) -> None:
    check = ["sh", "-c", 'for f in "$@"; do [ -f "$f" ] && [ -s "$f" ] || echo "$f"; done', "sh", *paths]
    missing = decode(desk.sandbox.run(check, timeout=desk.most).stdout).split("\n")[:-1] if paths else []
    if missing:
        raise Failed(f"{', '.join(missing)} does not exist or is empty; nothing was submitted")


def _read(sandbox: Sandbox, path: str) -> str:
    try:
        return decode(sandbox.read_file(path))
    except FileNotFoundError:
        raise Failed(f"{path} does not exist") from None
    except SandboxError as error:
        raise Failed(error.message) from error


def _write(desk: Desk, path: str, content: str) -> None:
    """Through a redirection, so that a file that exists keeps its mode (and a diff shows no change of it)."""
    command = ["sh", "-c", 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"', "sh", path]
    done = desk.sandbox.run(command, timeout=desk.most, stdin=encode(content), merge_stderr=True)
    if done.exit_code != 0:
        raise Failed(f"{path} cannot be written: {decode(done.stdout).strip()[-300:]}")


Tool = Callable[[Mapping[str, Any], Desk], ToolResult]
TOOLS: dict[str, Tool] = {"bash": bash, "edit": edit, "create": create, "submit": submit}
