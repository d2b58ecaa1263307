"""The textual call format, which any chat model can follow (CWM's tags, our contents).

    <tool: bash timeout=60>         <tool: edit>               <tool: create>        <tool: submit>
    ls -la                          src/a.py                   src/new.py            /tmp/artifact/test_script.sh
    </tool>                         <<<<<<< SEARCH             print("content")      ...
                                    old lines                  </tool>               </tool>
                                    =======
                                    new lines
                                    >>>>>>> REPLACE
                                    </tool>

One call a message; the toolset defines the tools and what may stand between the tags. A malformed message is answered
with an error that a small model can act on, and nothing is run: after the first of two calls, a model would continue
from results that it made up. Parsing takes linear time, since a model may write anything.
"""

import re
from bisect import bisect_left
from typing import Any

from selfplay.agent.actions import Call, Malformed
from selfplay.agent.toolset import CallParseError, CannotFormatCall, Tool, Toolset

__all__ = ["MOST_SAID", "CannotFormatCall", "example", "parse", "without_thoughts", "write"]

_TAG = r"<tool:[ \t]*(?P<name>[A-Za-z_]{1,40})(?P<options>[^<>\n]{0,200})>"
_OPEN = rf"{_TAG}(?:[ \t]+(?=\n))?"
OPEN = re.compile(_OPEN)
CRLF = re.compile(rf"{_TAG}[ \t]*\r\n")
OPEN_LINE = re.compile(rf"^[ \t]*{_OPEN}[ \t]*$", re.MULTILINE)
CLOSE = "</tool>"
CLOSE_LINE = re.compile(r"^[ \t]*</tool>", re.MULTILINE)
TAG = re.compile(rf"<(?P<end>/?)think(?:ing)?>|{_OPEN}")
MOST_SAID = 64_000
"""Characters of a message that are kept; its tokens are all kept if the engine returns them."""


def parse(said: str, toolset: Toolset, cut_off: bool = False) -> Call | Malformed | None:
    """The call in a message, or None. `cut_off`: the message hit a token limit."""
    kept = said if len(said) <= MOST_SAID else said[:MOST_SAID] + "\n[... cut ...]"
    crlf = said.count("\r\n") == said.count("\n") or CRLF.search(said)  # CRLF line ends carry no meaning
    text = without_thoughts(said.replace("\r\n", "\n") if crlf else said)
    opening = OPEN.search(text)
    if opening is None:
        why = _no_tag(text, cut_off)
        return Malformed(kept, why) if why else None
    name = opening["name"].lower()
    try:
        return Call(name, _arguments(text, opening, toolset, cut_off), kept)
    except CallParseError as why:
        return Malformed(kept, str(why), name)


def without_thoughts(said: str) -> str:
    """The message without its reasoning. The prompt may have opened the reasoning block, so a closing tag alone counts
    too; a block that is not closed hides the rest. Inside a call such a tag is part of the call."""
    kept: list[str] = []
    at, place, thinking, ends = 0, 0, False, _CallEnds(said)
    while tag := TAG.search(said, place):
        place = tag.end()
        if tag["name"]:
            place = place if thinking else ends.after(place)
            continue
        if tag["end"] and not thinking:
            kept.clear()
        if not tag["end"] and not thinking:
            kept.append(said[at : tag.start()])
        at, thinking = place, not tag["end"]
    return "".join(kept) + ("" if thinking else said[at:])


class _CallEnds:
    """Where calls end. A call that continues after its tag's line ends at a closing tag on its own line, if there is
    one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match.span() for match in CLOSE_LINE.finditer(text)]
        self._all = [match.span() for match in re.finditer(CLOSE, text)]

    def of(self, place: int) -> tuple[int, int] | None:
        """Start and end of the closing tag for the call whose tag ends at `place`; None if it is not closed."""
        for spans in (self._lines if self._text.startswith("\n", place) else (), self._all):
            at = bisect_left(spans, (place, place))
            if at < len(spans):
                return spans[at]
        return None

    def after(self, place: int) -> int:
        """Where the text continues after that call; directly after its tag if nothing closes it before the next tag,
        for example when the text only mentions a tag."""
        found = self.of(place)
        return found[1] if found and not OPEN.search(self._text, place, found[0]) else place


def _no_tag(text: str, cut_off: bool) -> str:
    """What is wrong with a message without an opening tag; empty when it does not try to make a call."""
    if cut_off:
        return "Your message was cut off at the length limit before any call. Be brief and make one call."
    if re.search(r"<tool\b|</tool>", text):
        return "A call begins with a line like <tool: bash> and ends with the line </tool>."
    return ""


def _arguments(text: str, opening: re.Match[str], toolset: Toolset, cut_off: bool) -> dict[str, Any]:
    """The arguments of the one call in `text`. Raises `CallParseError`."""
    name = opening["name"].lower()
    body, rest = _body(text, opening.end(), name, cut_off)
    second = OPEN.search(rest)
    if second:
        raise CallParseError(
            f"Your message holds more than one call ({name}, then {second['name']}). Make one call a message."
        )
    if CLOSE_LINE.search(rest) and rest.replace(CLOSE, "").strip():
        raise CallParseError(
            f"{name}: text follows the closing </tool>. If the content needs a </tool> line, use bash."
        )
    tool = toolset.find(name)
    if tool is None:
        raise CallParseError(toolset.no_tool(name))
    try:
        return _read(tool, body, opening["options"].strip())
    except CallParseError as why:
        raise CallParseError(f"{name}: {why}") from None


def _read(tool: Tool, body: str, options: str) -> dict[str, Any]:
    if options and not tool.form.options:
        raise CallParseError(
            f"{options!r} is not allowed in the tag. Write <tool: {tool.name}>, the rest on the next lines."
        )
    return tool.form.read(body, options)


def _body(text: str, begin: int, name: str, cut_off: bool) -> tuple[str, str]:
    """The body of the call whose tag ends at `begin`, and the text that follows it."""
    end = _CallEnds(text).of(begin)
    if end is None:
        why = "your message was cut off at the length limit" if cut_off else "the line </tool> is missing"
        raise CallParseError(f"The call of {name} is not closed: {why}.")
    inside = text[begin : end[0]]
    another = OPEN_LINE.search(inside)
    if another:
        why = f"the line </tool> is missing before that of {another['name']}"
        raise CallParseError(f"The call of {name} is not closed: {why}.")
    return inside.removeprefix("\n").removesuffix("\n"), text[end[1] :]


def write(call: Call, toolset: Toolset) -> str:
    """The call in this format; `parse` reads it back. Raises `CannotFormatCall`."""
    tool = toolset.find(call.tool)
    if tool is None:
        raise CannotFormatCall(f"there is no tool {call.tool!r}")
    try:
        normal = tool.normal(call.arguments)
        options, body = tool.form.write(normal)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CannotFormatCall(f"a call of {call.tool} with arguments it does not take") from error
    text = f"<tool: {tool.name}{options}>\n{body}{CLOSE}"
    again = parse(text, toolset)
    if not isinstance(again, Call) or (again.tool, again.arguments) != (tool.name, normal):
        raise CannotFormatCall(f"a call of {call.tool} that the textual format cannot write")
    return text


def example(tool: Tool, toolset: Toolset) -> str:
    """A correct call of `tool`, to show to a model."""
    return write(Call(tool.name, dict(tool.example)), toolset)
