"""The four tools for endpoints with native tool calls: their schemas, and reading what a model wrote for them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.agent.actions import Call, Malformed, cap
from selfplay.agent.call_format import MOST_SAID
from selfplay.agent.model import NativeCall

_TEXT = {"type": "string"}
_PARAMETERS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "bash": (
        "Run a command from the repository root.",
        {"command": _TEXT, "timeout": {"type": "number", "description": "seconds, at most 120"}},
        ["command"],
    ),
    "edit": (
        "Replace the one place in a file where the text `old` stands by `new`.",
        {"path": _TEXT, "old": _TEXT, "new": _TEXT},
        ["path", "old", "new"],
    ),
    "create": ("Write a file, replacing what was there.", {"path": _TEXT, "content": _TEXT}, ["path", "content"]),
    "submit": (
        "Hand in. The last submission counts.",
        {"paths": {"type": "array", "items": _TEXT, "description": "the files that are asked for; none for a fix"}},
        [],
    ),
}
SCHEMAS: tuple[Mapping[str, Any], ...] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
    for name, (description, properties, required) in _PARAMETERS.items()
)
"""As the `tools` of a chat completion."""


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def read(calls: Sequence[NativeCall], said: str, cut_off: bool = False) -> Call | Malformed | None:
    """The one call of a message; None when it holds none."""
    words = cap(said + "".join(f"\n[{call.name} {call.arguments}]" for call in calls), MOST_SAID)
    if cut_off:
        return Malformed(words, "Your message was cut off at the length limit. Be brief and make one call.")
    if not calls:
        return None
    if len(calls) > 1:
        return Malformed(words, f"Your message holds {len(calls)} calls. Nothing was run. Make one call a message.")
    try:
        arguments = json.loads(calls[0].arguments or "{}", parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return Malformed(words, f"{calls[0].name}: the arguments are not JSON: {error}.")
    if not isinstance(arguments, dict):
        return Malformed(words, f"{calls[0].name}: the arguments are not a JSON object.")
    if calls[0].name == "submit" and not arguments.get("paths"):
        arguments = {"folder": arguments.get("folder", ".")}
    return Call(calls[0].name, arguments, words)
