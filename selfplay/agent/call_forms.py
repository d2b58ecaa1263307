"""How the four tools' calls are written between their tags.

Error messages are worded so that a small model can act on them.
"""

import re
from collections.abc import Mapping
from typing import Any

from selfplay.agent.toolset import CallParseError, TextForm

SEARCH = re.compile(r"<{5,9} ?SEARCH\s*")
DIVIDE = re.compile(r"={5,9}\s*")
REPLACE = re.compile(r">{5,9} ?REPLACE\s*")
EDIT_RULE = (
    "needs the path on the first line, then the lines <<<<<<< SEARCH, the old text, =======, "
    "the new text, >>>>>>> REPLACE."
)


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


def _write_bash(arguments: Mapping[str, Any]) -> tuple[str, str]:
    options = f" timeout={arguments['timeout']!r}" if "timeout" in arguments else ""
    return options, f"{arguments['command']}\n"


def _read_edit(body: str, options: str) -> dict[str, Any]:
    path, *lines = body.rstrip().split("\n")
    if len(lines) < 3 or not SEARCH.fullmatch(lines[0]) or not REPLACE.fullmatch(lines[-1]):
        raise CallParseError(EDIT_RULE)
    if any(SEARCH.fullmatch(line) or REPLACE.fullmatch(line) for line in lines[1:-1]):
        raise CallParseError("edit one place per call. Write one SEARCH and one REPLACE line.")
    divider = _divider(lines)
    old, new = "\n".join(lines[1:divider]), "\n".join(lines[divider + 1 : -1])
    deletes = divider == len(lines) - 2
    return {"path": path.strip(), "old": f"{old}\n" if old and deletes else old, "new": new}


def _divider(lines: list[str]) -> int:
    """The index of the divider line between old and new. A heading's underline can look like it: ambiguous text is
    refused."""
    for usual in (re.compile(r"={7}"), DIVIDE):
        found = [at for at, line in enumerate(lines) if usual.fullmatch(line)]
        if len(found) == 1:
            return found[0]
        if found:
            raise CallParseError("more than one line could be the divider =======. Leave such lines out, or use bash.")
    raise CallParseError(EDIT_RULE)


def _write_edit(arguments: Mapping[str, Any]) -> tuple[str, str]:
    """An empty replacement deletes whole lines."""
    old = arguments["old"] if arguments["new"] else arguments["old"].removesuffix("\n")
    new = f"{arguments['new']}\n" if arguments["new"] else ""
    return "", f"{arguments['path']}\n<<<<<<< SEARCH\n{old}\n=======\n{new}>>>>>>> REPLACE\n"


def _read_create(body: str, options: str) -> dict[str, Any]:
    path, newline, content = body.partition("\n")
    if not path.strip():
        raise CallParseError("needs the path on the first line after <tool: create>, then the content.")
    return {"path": path.strip(), "content": f"{content}\n" if newline else ""}


def _read_submit(body: str, options: str) -> dict[str, Any]:
    return normal_submit({"paths": [line.strip() for line in body.splitlines() if line.strip()]})


def normal_submit(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Submitting the repository's root is `folder` alone; any other submission is `paths`."""
    if arguments.get("paths"):
        return dict(arguments)
    folder = arguments.get("folder", ".")
    return {"folder": folder} if folder == "." or not isinstance(folder, str) else {"paths": [folder]}


def _write_submit(arguments: Mapping[str, Any]) -> tuple[str, str]:
    return "", "".join(f"{path}\n" for path in arguments.get("paths", ()))


BASH = TextForm(_read_bash, _write_bash, options=True)
EDIT = TextForm(_read_edit, _write_edit)
CREATE = TextForm(_read_create, lambda arguments: ("", f"{arguments['path']}\n{arguments['content']}"))
SUBMIT = TextForm(_read_submit, _write_submit)
