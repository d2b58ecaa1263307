"""Reads an endpoint's native tool calls as calls of tools in the toolset."""

import json
from collections.abc import Sequence

from selfplay.agent.actions import Call, Malformed
from selfplay.agent.call_format import MOST_SAID
from selfplay.agent.model import NativeCall
from selfplay.agent.toolset import Toolset
from selfplay.formatting import cap, count


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def read(calls: Sequence[NativeCall], said: str, toolset: Toolset, cut_off: bool = False) -> Call | Malformed | None:
    """The one call of a message, or None. The episode refuses a tool that does not exist."""
    words = cap(said + "".join(f"\n[{call.name} {call.arguments}]" for call in calls), MOST_SAID)
    if cut_off:
        return Malformed(words, "Your message was cut off at the length limit. Be brief and make one call.")
    if not calls:
        return None
    if len(calls) > 1:
        return Malformed(
            words, f"Your message holds {count(len(calls), 'call')}. Nothing was run. Make one call a message."
        )
    name = calls[0].name
    try:
        arguments = json.loads(calls[0].arguments or "{}", parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return Malformed(words, f"{name}: the arguments are not JSON: {error}.", name)
    if not isinstance(arguments, dict):
        return Malformed(words, f"{name}: the arguments are not a JSON object.", name)
    tool = toolset.find(name)
    return Call(name, tool.normal(arguments) if tool else arguments, words)
