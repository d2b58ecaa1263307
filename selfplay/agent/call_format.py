"""The one textual call format, which any chat model can follow (the tags are CWM's; what stands in them is ours).

    <tool: bash timeout=60>         <tool: edit>               <tool: create>        <tool: submit>
    ls -la                          src/a.py                   src/new.py            /tmp/artifact/test_script.sh
    </tool>                         <<<<<<< SEARCH             print("content")      ...
                                    old lines                  </tool>               </tool>
                                    =======
                                    new lines
                                    >>>>>>> REPLACE
                                    </tool>

One call a message. Whatever is wrong is said in words that a small model can act on, and nothing is run: running the
first of two calls would let a model go on from results that it made up. An empty replacement deletes whole lines.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from selfplay.agent.actions import Call, Malformed

_TAG = r"<tool:[ \t]*(?P<name>[A-Za-z_]{1,40})(?P<options>[^<>\n]{0,200})>"
_OPEN = rf"{_TAG}(?:[ \t]+(?=\n))?"
OPEN = re.compile(_OPEN)
CRLF = re.compile(rf"{_TAG}[ \t]*\r\n")
OPEN_LINE = re.compile(rf"^[ \t]*{_OPEN}[ \t]*$", re.MULTILINE)
CLOSE = "</tool>"
CLOSE_LINE = re.compile(r"^[ \t]*</tool>", re.MULTILINE)
SEARCH = re.compile(r"<{5,9} ?SEARCH\s*")
DIVIDE = re.compile(r"={5,9}\s*")
REPLACE = re.compile(r">{5,9} ?REPLACE\s*")
TAG = re.compile(rf"<(?P<end>/?)think(?:ing)?>|{_OPEN}")
EDIT_FORM = (
    "edit: needs the path on the first line, then the lines <<<<<<< SEARCH, the old text, =======, "
    "the new text, >>>>>>> REPLACE."
)
MOST_SAID = 64_000
"""Characters of a message that are kept; its tokens are kept whole where the engine gives them.

A model writes what it likes, so everything here takes time linear in the message.
"""


class Unspeakable(ValueError):
    """A call that this format cannot say without changing it."""


class _Bad(Exception):
    """Why a text is no call."""


def parse(said: str, cut_off: bool = False) -> Call | Malformed | None:
    """The call a message holds; None when it holds none. `cut_off`: the message hit a token limit."""
    kept = said if len(said) <= MOST_SAID else said[:MOST_SAID] + "\n[... cut ...]"
    ended_so = said.count("\r\n") == said.count("\n") or CRLF.search(said)  # and means nothing by it
    text = said.replace("\r\n", "\n") if ended_so else said
    try:
        found = _find(without_thoughts(text), cut_off)
    except _Bad as why:
        return Malformed(kept, str(why))
    return Call(found[0], found[1], kept) if found else None


def without_thoughts(said: str) -> str:
    """The message without its reasoning. A block may have been opened by the prompt, so an end alone counts too; one
    that is not closed hides the rest. Inside a call such a tag is part of the call."""
    kept: list[str] = []
    at, place, thinking, ends = 0, 0, False, _Ends(said)
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


class _Ends:
    """Where calls end: one that goes on after the line of its tag ends with a line of its own, where there is one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match.span() for match in CLOSE_LINE.finditer(text)]
        self._last = text.rfind(CLOSE)

    def of(self, place: int) -> tuple[int, int] | None:
        """Begin and end of what closes the call whose tag ends at `place`; None where nothing does."""
        at = bisect_left(self._lines, (place, place))
        if self._text.startswith("\n", place) and at < len(self._lines):
            return self._lines[at]
        found = self._text.find(CLOSE, place) if place <= self._last else -1
        return None if found < 0 else (found, found + len(CLOSE))

    def after(self, place: int) -> int:
        """Where the text goes on behind that call; behind its tag where nothing closes it before the next one, as
        where a tag is only spoken of."""
        found = self.of(place)
        return found[1] if found and not OPEN.search(self._text, place, found[0]) else place


def _find(text: str, cut_off: bool) -> tuple[str, dict[str, Any]] | None:
    opening = OPEN.search(text)
    if opening is None:
        if cut_off:
            raise _Bad("Your message was cut off at the length limit before any call. Be brief and make one call.")
        if re.search(r"<tool\b|</tool>", text):
            raise _Bad("A call begins with a line like <tool: bash> and ends with the line </tool>.")
        return None
    name = opening["name"].lower()
    body, rest = _body(text, opening.end(), name, cut_off)
    second = OPEN.search(rest)
    if second:
        raise _Bad(f"Your message holds more than one call ({name}, then {second['name']}). Make one call a message.")
    if CLOSE_LINE.search(rest) and rest.replace(CLOSE, "").strip():
        raise _Bad(f"{name}: a line </tool> ends a call, and yours goes on after one. Say such a line in another way.")
    if name not in READERS:
        raise _Bad(f"There is no tool {name!r}. The tools are: {', '.join(READERS)}.")
    return name, READERS[name](body, opening["options"].strip())


def _body(text: str, begin: int, name: str, cut_off: bool) -> tuple[str, str]:
    """What stands in the call whose tag ends at `begin`, and what follows it."""
    end = _Ends(text).of(begin)
    if end is None:
        why = "your message was cut off at the length limit" if cut_off else "the line </tool> is missing"
        raise _Bad(f"The call of {name} is not closed: {why}.")
    inside = text[begin : end[0]]
    another = OPEN_LINE.search(inside)
    if another:
        raise _Bad(f"The call of {name} is not closed: the line </tool> is missing before that of {another['name']}.")
    return inside.removeprefix("\n").removesuffix("\n"), text[end[1] :]


def _bash(body: str, options: str) -> dict[str, Any]:
    if not body.strip():
        raise _Bad("bash: there is no command between <tool: bash> and </tool>.")
    if not options:
        return {"command": body}
    timeout = re.fullmatch(r"(?:timeout=)?\"?(\d{1,9}(?:\.\d{1,9})?)s?\"?", options)
    if not timeout:
        raise _Bad(f"bash: {options!r} is not understood. Only a time limit may stand there: <tool: bash timeout=60>.")
    return {"command": body, "timeout": float(timeout[1])}


def _edit(body: str, options: str) -> dict[str, Any]:
    _refuse_options("edit", options)
    path, *lines = body.rstrip().split("\n")
    if len(lines) < 3 or not SEARCH.fullmatch(lines[0]) or not REPLACE.fullmatch(lines[-1]):
        raise _Bad(EDIT_FORM)
    if any(SEARCH.fullmatch(line) or REPLACE.fullmatch(line) for line in lines[1:-1]):
        raise _Bad("edit: one place a call. Write one SEARCH and one REPLACE line.")
    divider = _divider(lines)
    old, new = "\n".join(lines[1:divider]), "\n".join(lines[divider + 1 : -1])
    deletes = divider == len(lines) - 2
    return {"path": path.strip(), "old": f"{old}\n" if old and deletes else old, "new": new}


def _divider(lines: list[str]) -> int:
    """The line between old and new. Headings may be underlined like one: what could be either is refused."""
    for usual in (re.compile(r"={7}"), DIVIDE):
        found = [at for at, line in enumerate(lines) if usual.fullmatch(line)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _Bad("edit: more than one line could be the divider =======. Leave such lines out, or use bash.")
    raise _Bad(EDIT_FORM)


def _create(body: str, options: str) -> dict[str, Any]:
    _refuse_options("create", options)
    path, newline, content = body.partition("\n")
    if not path.strip():
        raise _Bad("create: needs the path on the first line after <tool: create>, then the content.")
    return {"path": path.strip(), "content": f"{content}\n" if newline else ""}


def _submit(body: str, options: str) -> dict[str, Any]:
    _refuse_options("submit", options)
    paths = [line.strip() for line in body.splitlines() if line.strip()]
    return {"paths": paths} if paths else {"folder": "."}


def _refuse_options(name: str, options: str) -> None:
    if options:
        raise _Bad(f"{name}: {options!r} may not stand there. Write <tool: {name}>, and the path on the next line.")


READERS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "bash": _bash,
    "edit": _edit,
    "create": _create,
    "submit": _submit,
}


def write(call: Call) -> str:
    """The call in this format: `parse` gives the same back. Raises `Unspeakable`."""
    text = _written(call)
    again = parse(text)
    if not isinstance(again, Call) or (again.tool, again.arguments) != (call.tool, _usual(call)):
        raise Unspeakable(f"a call of {call.tool} that the textual format cannot say")
    return text


def _usual(call: Call) -> dict[str, Any]:
    """The arguments as `parse` would give them: a timeout only where one was asked for."""
    if call.tool == "submit" and call.arguments.get("folder", ".") != ".":
        return {"paths": [call.arguments["folder"]]}
    return call.arguments


def _written(call: Call) -> str:
    a = call.arguments
    try:
        if call.tool == "bash":
            option = f" timeout={a['timeout']!r}" if "timeout" in a else ""
            return f"<tool: bash{option}>\n{a['command']}\n{CLOSE}"
        if call.tool == "edit":
            old = a["old"].removesuffix("\n") if not a["new"] else a["old"]
            new = f"{a['new']}\n" if a["new"] else ""
            return f"<tool: edit>\n{a['path']}\n<<<<<<< SEARCH\n{old}\n=======\n{new}>>>>>>> REPLACE\n{CLOSE}"
        if call.tool == "create":
            return f"<tool: create>\n{a['path']}\n{a['content']}{CLOSE}"
        if call.tool == "submit":
            paths = _usual(call).get("paths", [])
            return "<tool: submit>\n" + "".join(f"{path}\n" for path in paths) + CLOSE
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unspeakable(f"a call of {call.tool} with arguments it does not take") from error
    raise Unspeakable(f"there is no tool {call.tool!r}")
