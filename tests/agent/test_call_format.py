"""The textual call format: what is read as a call, and what is said to a model that gets it wrong."""

import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.agent import Call, Malformed, native_calls
from selfplay.agent.call_format import CannotFormatCall, without_thoughts
from selfplay.agent.call_format import parse as parse_with
from selfplay.agent.call_format import write as write_with
from selfplay.agent.model import NativeCall
from selfplay.agent.tools import SSR_TOOLS

parse, write = partial(parse_with, toolset=SSR_TOOLS), partial(write_with, toolset=SSR_TOOLS)
EDIT = "<tool: edit>\na.py\n<<<<<<< SEARCH\n  old\n=======\n  new\n>>>>>>> REPLACE\n</tool>"


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        ("<tool: bash>\nls -la\n</tool>", "bash", {"command": "ls -la"}),
        ("I look.\n\n<tool: bash>\nls\n</tool>\nThen I go on.", "bash", {"command": "ls"}),
        ("<tool: bash>ls</tool>", "bash", {"command": "ls"}),
        ("<tool:bash timeout=30>\nls\n</tool>", "bash", {"command": "ls", "timeout": 30.0}),
        ("<tool: bash 5s>\nls\n</tool>", "bash", {"command": "ls", "timeout": 5.0}),
        ("<tool: BASH>\nls\n  </tool>", "bash", {"command": "ls"}),
        ("<tool: bash>\necho '</tool>' >x\nls\n</tool>", "bash", {"command": "echo '</tool>' >x\nls"}),
        (EDIT, "edit", {"path": "a.py", "old": "  old", "new": "  new"}),
        (EDIT.replace("  new\n", ""), "edit", {"path": "a.py", "old": "  old\n", "new": ""}),
        ("<tool: create>\na b.txt\none\ntwo\n</tool>", "create", {"path": "a b.txt", "content": "one\ntwo\n"}),
        ("<tool: create>\nempty\n</tool>", "create", {"path": "empty", "content": ""}),
        ("<tool: submit>\n</tool>", "submit", {"folder": "."}),
        ("<tool: submit></tool>", "submit", {"folder": "."}),
        ("<tool: submit>\n/a/x\n\n /a/y\n</tool>", "submit", {"paths": ["/a/x", "/a/y"]}),
        ("<think>maybe <tool: bash>\nrm x\n</tool></think><tool: bash>\nls\n</tool>", "bash", {"command": "ls"}),
        ("it began in the prompt </think><tool: bash>\nls\n</tool>", "bash", {"command": "ls"}),
        ("I could say <tool: bash> here.</think>\n<tool: bash>\nls\n</tool>", "bash", {"command": "ls"}),
        ("<tool: bash>\nrm x\n</tool> No.</think>\n<tool: bash>\nls\n</tool>", "bash", {"command": "ls"}),
        ("<tool: bash>\ngrep '</think>' f\n</tool>", "bash", {"command": "grep '</think>' f"}),
        ("<think>Hm.</think><tool: create>\na\n<think>b</think>\n</tool>", "create",
         {"path": "a", "content": "<think>b</think>\n"}),
        ("<tool: create> \na\nb\n</tool>", "create", {"path": "a", "content": "b\n"}),
        ("<tool: bash>\nls\n</tool>\n</tool>", "bash", {"command": "ls"}),
        ("<tool: bash timeout=5> \r\nls\r\npwd\r\n</tool>\r\n", "bash", {"command": "ls\npwd", "timeout": 5.0}),
        (EDIT.replace("\n", "\r\n"), "edit", {"path": "a.py", "old": "  old", "new": "  new"}),
        (EDIT.replace(">\n", ">", 1).replace("\n", "\r\n"), "edit", {"path": "a.py", "old": "  old", "new": "  new"}),
        (EDIT.replace("  old", "  old\r"), "edit", {"path": "a.py", "old": "  old\r", "new": "  new"}),
        (EDIT.replace("old", "old\n=====").replace("new", "new\n====="), "edit",
         {"path": "a.py", "old": "  old\n=====", "new": "  new\n====="}),
    ],
)  # fmt: skip
def test_a_call_is_read(said: str, tool: str, arguments: dict[str, Any]) -> None:
    call = parse(said)
    assert isinstance(call, Call), call
    assert (call.tool, call.arguments, call.said) == (tool, arguments, said)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("<tool: bash>\nls", "The call of bash is not closed: the line </tool> is missing."),
        ("<tool: bash>\nls\n</tool>\n<tool: bash>\nrm x\n</tool>",
         "Your message holds more than one call (bash, then bash). Make one call a message."),
        ("<tool: python>\n1\n</tool>", "There is no tool 'python'. The tools are: bash, edit, create, submit."),
        ("<tool>bash ls</tool>", "A call begins with a line like <tool: bash> and ends with the line </tool>."),
        ("ls\n</tool>", "A call begins with a line like <tool: bash> and ends with the line </tool>."),
        ("<tool: bash>\n \n</tool>", "bash: there is no command between <tool: bash> and </tool>."),
        ("<tool: bash fast>\nls\n</tool>", "bash: 'fast' is not understood. The tag takes only a time limit"),
        ("<tool: edit>\na.py\nold -> new\n</tool>", "edit: needs the path on the first line"),
        ("<tool: bash>\nls\n<tool: bash>\nrm x\n</tool>",
         "The call of bash is not closed: the line </tool> is missing before that of bash."),
        ("<tool: bash>\ncat > f <<E\n</tool>\nE\nrm f\n</tool>", "bash: text follows the closing </tool>."),
        ("<tool: create a.py>\nimport b\n</tool>", "create: 'a.py' is not allowed in the tag. Write <tool: create>,"),
        ("<tool: submit /a>\n</tool>", "submit: '/a' is not allowed in the tag."),
        (EDIT.replace("old", "old\n======="), "edit: more than one line could be the divider ======="),
        (EDIT.replace(">>>>>>> REPLACE", ">>>>>>> REPLACE\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"),
         "edit: edit one place per call."),
        ("<tool: create>\n</tool>", "create: needs the path on the first line"),
    ],
)  # fmt: skip
def test_a_malformed_call_is_answered_with_what_is_wrong(said: str, why: str) -> None:
    turn = parse(said)
    assert isinstance(turn, Malformed), turn
    assert turn.why.startswith(why) and turn.said == said


@pytest.mark.parametrize("said", ["Done.", "", "a <b> c", "<think><tool: bash>\nls\n</tool></think> no", "<think>ls"])
def test_a_message_without_a_call(said: str) -> None:
    assert parse(said) is None


def test_a_message_that_was_cut_off() -> None:
    for said, why in [("x " * 9, "Your message was cut off"), ("<tool: bash>\nls", "not closed: your message was cut")]:
        turn = parse(said, cut_off=True)
        assert isinstance(turn, Malformed) and why in turn.why
    assert isinstance(parse("<tool: bash>\nls\n</tool> and then", cut_off=True), Call)


@pytest.mark.parametrize(
    "noise",
    ["<tool: ba <think> </tool ", "<tool: bash>\n", "<tool: bash>", "<tool: bash>\nls</tool>", "</think>\n</tool>"],
)
def test_noise_is_kept_in_part_and_read_quickly(noise: str) -> None:
    started = time.monotonic()
    turn = parse(noise * 20_000)
    assert isinstance(turn, Malformed | None)
    assert turn is None or len(turn.said) < 70_000
    assert time.monotonic() - started < 5


def test_thoughts_are_no_part_of_a_message() -> None:
    assert without_thoughts("<think>a</think>b<thinking>c</thinking>d<think>e") == "bd"


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@given(
    st.one_of(
        st.builds(lambda c: Call("bash", {"command": c}), TEXTS),
        st.builds(lambda p, o, n: Call("edit", {"path": p, "old": o, "new": n}), TEXTS, TEXTS, TEXTS),
        st.builds(lambda p, c: Call("create", {"path": p, "content": c}), TEXTS, TEXTS),
        st.builds(lambda p: Call("submit", {"folder": p}), TEXTS),
    )
)
@pytest.mark.slow
def test_what_is_written_is_read_again_or_refused(call: Call) -> None:
    try:
        text = write(call)
    except CannotFormatCall:
        return
    again = parse(text)
    assert isinstance(again, Call) and again.tool == call.tool
    if call.tool != "submit":
        assert again.arguments == call.arguments


@pytest.mark.parametrize(
    "call",
    [
        Call("bash", {"command": "a\nb", "timeout": 2.5}),
        Call("create", {"path": "x", "content": "\n\na\n"}),
        Call("edit", {"path": "x", "old": "a\n", "new": "b\n"}),
        Call("edit", {"path": "x", "old": "a\n", "new": ""}),
        Call("submit", {"folder": "/tmp/artifact"}),
        Call("submit", {"folder": "."}),
    ],
)
def test_ordinary_calls_can_be_said(call: Call) -> None:
    assert isinstance(parse(write(call)), Call)


@pytest.mark.parametrize(
    "call",
    [
        Call("create", {"path": "x", "content": "no newline at the end"}),
        Call("create", {"path": "x", "content": "</tool>\n"}),
        Call("edit", {"path": "x", "old": "part of a line", "new": ""}),
        Call("bash", {"command": 3}),
        Call("(malformed)", {}),
    ],
)
def test_what_the_format_cannot_say_is_refused(call: Call) -> None:
    with pytest.raises(CannotFormatCall):
        write(call)


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([("bash", '{"command": "ls"'), ], "bash: the text of the arguments is not JSON as we write it: line 1"),
        ([("bash", "[" * 200_000)], "bash: the text of the arguments is nested too deeply"),
        ([("bash", '{"command": "ls", "x": ' + "[" * 70 + "]" * 70 + "}")], "bash: the text of the arguments is nest"),
        ([("bash", '{"command": "ls", "x": ' + "[" * 32 + "]" * 32 + "}")], "bash: the arguments hold more than 1000"),
        ([("bash", '{"command": "ls", "x": 1e999}')], "bash: the text of the arguments is not JSON as we write it"),
        ([("bash", '{"command": "ls", "x": ' + "9" * 4000 + "}")], "bash: the text of the arguments is not JSON"),
        ([("bash", '{"command": "ls", "x": [' + "0," * 1000 + "0]}")], "bash: the arguments hold more than"),
        ([("bash", '{"command": "\ud800"}')], "bash: the text of the arguments is no text"),
        ([("bash", '["ls"]')], "bash: the arguments are not a JSON object."),
        ([("bash", "{}"), ("submit", "{}")], "Your message holds 2 calls. Nothing was run."),
    ],
)  # fmt: skip
def test_native_calls_that_are_wrong(calls: list[tuple[str, str]], why: str) -> None:
    turn = native_calls.read([NativeCall(str(n), *call) for n, call in enumerate(calls)], "I try.", SSR_TOOLS)
    assert isinstance(turn, Malformed) and turn.why.startswith(why)
    assert turn.said.startswith("I try.\n[bash ") and len(turn.said) < 70_000


def test_native_calls_that_are_right() -> None:
    call = native_calls.read([NativeCall("1", "bash", '{"command": "ls", "timeout": 3}')], "", SSR_TOOLS)
    assert isinstance(call, Call) and (call.tool, call.arguments) == ("bash", {"command": "ls", "timeout": 3})
    for arguments in ("", "{}", '{"paths": []}'):
        call = native_calls.read([NativeCall("1", "submit", arguments)], "", SSR_TOOLS)
        assert isinstance(call, Call) and call.arguments == {"folder": "."}
    assert native_calls.read([], "Done.", SSR_TOOLS) is None
