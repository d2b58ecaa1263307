"""The four tools of the scaffold (bash, edit, create, submit): how the text of a call is read and written, and what it
does in the episode's sandbox.

The names and limits are CWM's (120 s per command, capped observations). Deviations: edit is an exact search and replace
of one place and explains its failures, and so do the errors of a malformed text, since small models fix only errors
that are named. Files submitted by path are copied at once, so later changes do not affect the submission.
"""

import posixpath
import re
from collections.abc import Sequence
from typing import Any

from selfplay.agent.toolset import (
    COMMAND_SECONDS,
    OBSERVATION_CHARS,
    Arguments,
    BadCall,
    CallParseError,
    TextForm,
    ToolContext,
    ToolFailed,
    ToolResult,
)
from selfplay.formatting import cap, count
from selfplay.plain_text import decode, encode
from selfplay.sandbox import WORKDIR, Completed
from selfplay.sandbox.kill_detection import unless_killed

_SEARCH, _REPLACE = re.compile(r"<{5,9} ?SEARCH\s*"), re.compile(r">{5,9} ?REPLACE\s*")
_DIVIDERS = re.compile(r"={7}"), re.compile(r"={5,9}\s*")
_EDIT_RULE = (
    "needs the path on the first line, then the lines <<<<<<< SEARCH, the old text, =======, "
    "the new text, >>>>>>> REPLACE."
)


def _text(arguments: Arguments, name: str) -> str:
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


def _path(arguments: Arguments) -> str:
    path = _text(arguments, "path")
    return path if path.startswith("/") else f"{WORKDIR}/{path}"


def _own(context: ToolContext, command: list[str], stdin: bytes = b"") -> Completed:
    """Run one of our own programs, which never kills itself. Raises `SandboxLost` if it was killed."""
    box = context.sandbox
    done = box.run(command, timeout=context.most_seconds, stdin=stdin, merge_stderr=True, env=box.own_env)
    return unless_killed(done, command[0])


def _read_bash(body: str, options: str) -> dict[str, Any]:
    if not body.strip():
        raise CallParseError("there is no command between <tool: bash> and </tool>.")
    if not options:
        return {"command": body}
    timeout = re.fullmatch(r"(?:timeout=)?\"?(\d{1,9}(?:\.\d{1,9})?)s?\"?", options)
    if not timeout:
        raise CallParseError(
            f"{options!r} is not understood. The tag takes only a time limit: <tool: bash timeout=60>."
        )
    return {"command": body, "timeout": float(timeout[1])}


def _write_bash(arguments: Arguments) -> tuple[str, str]:
    options = f" timeout={arguments['timeout']!r}" if "timeout" in arguments else ""
    return options, f"{arguments['command']}\n"


BASH = TextForm(_read_bash, _write_bash, options=True)


def bash(arguments: Arguments, context: ToolContext) -> ToolResult:
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


def _read_edit(body: str, options: str) -> dict[str, Any]:
    path, *lines = body.rstrip().split("\n")
    if len(lines) < 3 or not _SEARCH.fullmatch(lines[0]) or not _REPLACE.fullmatch(lines[-1]):
        raise CallParseError(_EDIT_RULE)
    if any(_SEARCH.fullmatch(line) or _REPLACE.fullmatch(line) for line in lines[1:-1]):
        raise CallParseError("edit one place per call. Write one SEARCH and one REPLACE line.")
    divider = _divider(lines)
    old, new = "\n".join(lines[1:divider]), "\n".join(lines[divider + 1 : -1])
    deletes = divider == len(lines) - 2
    return {"path": path.strip(), "old": f"{old}\n" if old and deletes else old, "new": new}


def _divider(lines: list[str]) -> int:
    """The index of the divider line between old and new. A heading's underline can look like it: ambiguous text is
    refused."""
    for usual in _DIVIDERS:
        found = [at for at, line in enumerate(lines) if usual.fullmatch(line)]
        if len(found) == 1:
            return found[0]
        if found:
            raise CallParseError("more than one line could be the divider =======. Leave such lines out, or use bash.")
    raise CallParseError(_EDIT_RULE)


def _write_edit(arguments: Arguments) -> tuple[str, str]:
    """An empty replacement deletes whole lines."""
    old = arguments["old"] if arguments["new"] else arguments["old"].removesuffix("\n")
    new = f"{arguments['new']}\n" if arguments["new"] else ""
    return "", f"{arguments['path']}\n<<<<<<< SEARCH\n{old}\n=======\n{new}>>>>>>> REPLACE\n"


EDIT = TextForm(_read_edit, _write_edit)


def edit(arguments: Arguments, context: ToolContext) -> ToolResult:
    """Replace the only occurrence of `old` in `path` by `new`."""
    path, old, new = _path(arguments), _text(arguments, "old"), _text(arguments, "new")
    content = _content(path, context)
    at = content.find(old) if old else -1
    if at < 0:
        raise ToolFailed(f"`old` does not occur in {path}; it must occur exactly once")
    if content.find(old, at + 1) >= 0:  # finds overlapping places too
        times = max(2, content.count(old))
        raise ToolFailed(f"`old` occurs {count(times, 'time')} in {path}; it must occur exactly once")
    _write(context, path, content[:at] + new + content[at + len(old) :])
    return ToolResult(f"edited {path}")


def _content(path: str, context: ToolContext) -> str:
    try:
        return decode(context.sandbox.read_file(path))
    except FileNotFoundError:
        raise ToolFailed(f"{path} does not exist") from None


def _write(context: ToolContext, path: str, content: str) -> None:
    """Write through a redirection, so that an existing file keeps its mode (and a diff shows no mode change)."""
    command = ["sh", "-c", 'mkdir -p -- "$2" && cat > "$1"', "sh", path, posixpath.dirname(path) or "."]
    done = _own(context, command, encode(content))
    if done.exit_code != 0:
        raise ToolFailed(f"{path} cannot be written: {decode(done.stdout).strip()[-300:]}")


def _read_create(body: str, options: str) -> dict[str, Any]:
    path, newline, content = body.partition("\n")
    if not path.strip():
        raise CallParseError("needs the path on the first line after <tool: create>, then the content.")
    return {"path": path.strip(), "content": f"{content}\n" if newline else ""}


CREATE = TextForm(_read_create, lambda arguments: ("", f"{arguments['path']}\n{arguments['content']}"))


def create(arguments: Arguments, context: ToolContext) -> ToolResult:
    """Write `content` to `path`, replacing what was there."""
    path = _path(arguments)
    _write(context, path, _text(arguments, "content"))
    return ToolResult(f"wrote {path}")


def normal_submit(arguments: Arguments) -> dict[str, Any]:
    """Submitting the repository's root is `folder` alone; any other submission is `paths`."""
    if arguments.get("paths"):
        return dict(arguments)
    folder = arguments.get("folder", ".")
    return {"folder": folder} if folder == "." or not isinstance(folder, str) else {"paths": [folder]}


def _read_submit(body: str, options: str) -> dict[str, Any]:
    return normal_submit({"paths": [line.strip() for line in body.splitlines() if line.strip()]})


def _write_submit(arguments: Arguments) -> tuple[str, str]:
    return "", "".join(f"{path}\n" for path in arguments.get("paths", ()))


SUBMIT = TextForm(_read_submit, _write_submit)


def submit(arguments: Arguments, context: ToolContext) -> ToolResult:
    """Submit the folder with the result, or files by their paths; the last submission counts."""
    paths = arguments.get("paths") or [_text({"folder": ".", **arguments}, "folder")]
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) and path for path in paths):
        raise BadCall("'paths' is a list of file paths")
    if context.hand_in and len(paths) > 1:
        return ToolResult("submitted", submission=_copied(paths, context))
    folder = _path({"path": paths[0]})  # the repository's root, or the folder with the files
    _refuse_missing([f"{folder}/{name}" for name in context.hand_in], context)
    return ToolResult("submitted", submission=folder)


def _copied(paths: Sequence[str], context: ToolContext) -> str:
    """A new folder with the submitted files as they are now."""
    named = {posixpath.basename(path): _path({"path": path}) for path in paths}
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
