"""Reads an endpoint's native tool calls as calls of tools in the toolset.

What a model writes is untrusted JSON, and is stored with its episode: it is read within the bounds in which a stored
episode is.
"""

from collections.abc import Sequence
from typing import Any

from selfplay.agent.actions import Call, Malformed
from selfplay.agent.call_format import MOST_SAID
from selfplay.agent.model import NativeCall
from selfplay.agent.toolset import Toolset
from selfplay.formatting import cap, count
from selfplay.plain_text import encode
from selfplay.untrusted_json import AnswerError, json_value

MOST_VALUES, MOST_DEPTH = 1_000, 32
"""Values in the arguments of one call, and how deep they may be; a tool has few parameters."""


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
        arguments = json_value(encode(calls[0].arguments or "{}"))
    except (AnswerError, UnicodeEncodeError) as error:
        told = str(error) if isinstance(error, AnswerError) else "is no text"
        return Malformed(words, f"{name}: the text of the arguments {told}.", name)
    if not isinstance(arguments, dict):
        return Malformed(words, f"{name}: the arguments are not a JSON object.", name)
    if not _is_small(arguments):
        most = f"{MOST_VALUES} values, {MOST_DEPTH} deep"
        return Malformed(words, f"{name}: the arguments hold more than {most}.", name)
    tool = toolset.find(name)
    return Call(name, tool.normal(arguments) if tool else arguments, words)


def _is_small(arguments: Any) -> bool:
    total, level = 0, [arguments]
    for _ in range(MOST_DEPTH):
        total += len(level)
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [one for values in inner if not isinstance(values, str | int | float | None) for one in values]
    return not level and total <= MOST_VALUES
