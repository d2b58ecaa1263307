"""A role with a tool of its own, which no file of the package knows: told of, called in text and natively, and run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playing import played

from selfplay.agent import Finish, Tool, Toolset, Trajectory, call_format
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import Style
from selfplay.agent.model import Message, NativeCall, Reply, Sampling
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.toolset import BadCall, CallParseError, TextForm, ToolContext, ToolResult
from selfplay.agent.trajectory import Record
from selfplay.agent.trajectory_file import save
from selfplay.repository import Suite
from selfplay.roles.injector.staged import StagedInjector
from selfplay.roles.injector.task import InjectorTask
from selfplay.roles.role import Role
from selfplay.sandbox import Sandbox
from selfplay.sft.lessons import lessons
from selfplay.sft.successes import Success


def search(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Lines that hold the words."""
    words = arguments.get("words")
    if not isinstance(words, str):
        raise BadCall("needs 'words', a text")
    done = context.sandbox.run(["grep", "-rnF", "--", words, "."], timeout=context.most_seconds)
    return ToolResult(done.stdout.decode(), done.exit_code)


def read_words(body: str, options: str) -> dict[str, Any]:
    if not body.strip():
        raise CallParseError("there is no words between the tags.")
    return {"words": body}


WORDS = TextForm(read_words, lambda arguments: ("", f"{arguments['words']}\n"))
SEARCH = Tool(
    name="search",
    description="Find words in the files of the repository.",
    note="Write the words as they stand there.",
    parameters={"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]},
    run=search,
    form=WORDS,
    example={"words": "def main"},
)
TOOLS = Toolset("with search", (*SSR_TOOLS.tools, SEARCH))
READER: Role[str] = Role("reader", TOOLS, (), prompt=lambda task: f"Find {task}.", key=lambda task: task)


class Says:
    """A text model that says what it is given, and keeps what it was told."""

    name = "says"

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.told, self.tools = list(replies), list[Message](), list[Mapping[str, Any]]()

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        self.told, self.tools = list(messages), list(tools)
        return self.replies.pop(0)


def play(sandbox: Sandbox, model: Says, native: bool) -> Trajectory:
    sandbox.write_file("/testbed/a.txt", b"one\nneedle two\n")
    opening = READER.opening("needle", native)
    conversation = ChatConversation(
        model, "says", READER.name, opening, Style(native=native), toolset=READER.toolset
    )  # fmt: skip
    return played(conversation, sandbox, READER.name, toolset=READER.toolset)


def taught(trajectory: Trajectory, folder: Path) -> list[Message]:
    """The messages of an episode's lesson."""
    save(trajectory, path := folder / "000000.jsonl.zst")
    (lesson,) = lessons(Success(path, READER, READER.prompt("needle")), 1000)
    assert lesson.unsaid == 0
    return list(lesson.messages)


def native(name: str, **arguments: Any) -> Reply:
    return Reply("", (NativeCall("id", name, json.dumps(arguments)),))


def test_a_fifth_tool_is_told_of_and_called_in_text(sandbox: Sandbox) -> None:
    model = Says(
        Reply("<tool: search>\n</tool>"),
        Reply("<tool: search fast>\nneedle\n</tool>"),
        Reply("I look.\n<tool: search>\nneedle\n</tool>"),
        Reply("<tool: find>\nneedle\n</tool>"),
        Reply("<tool: submit>\n</tool>"),
        Reply("Done."),
    )
    trajectory = play(sandbox, model, native=False)
    assert trajectory.finish == Finish.SUBMITTED
    outputs = [step.output for step in trajectory.steps]
    example = "Write one call, like this:\n<tool: search>\ndef main\n</tool>"
    assert outputs[0] == f"search: there is no words between the tags. Nothing was run.\n{example}"
    assert outputs[1].startswith("search: 'fast' is not allowed in the tag.") and outputs[1].endswith(example)
    assert outputs[2] == "./a.txt:2:needle two\n" and not trajectory.steps[2].malformed
    assert outputs[3].startswith("There is no tool 'find'. The tools are: bash, edit, create, submit, search.")
    told = "Find words in the files of the repository. Write the words as they stand there."
    assert f"{told}\n<tool: search>\ndef main\n</tool>" in model.told[0].content


def test_a_fifth_tool_is_told_of_and_called_natively(sandbox: Sandbox) -> None:
    model = Says(native("search"), native("search", words="needle"), native("submit"), Reply("Done."))
    trajectory = play(sandbox, model, native=True)
    assert trajectory.finish == Finish.SUBMITTED
    assert [step.output for step in trajectory.steps[:2]] == [
        "search: needs 'words', a text", "./a.txt:2:needle two\n",
    ]  # fmt: skip
    assert [tool["function"]["name"] for tool in model.tools] == ["bash", "edit", "create", "submit", "search"]
    assert model.tools[-1] == SEARCH.schema
    assert "bash, edit, create, submit, search" in model.told[0].content


@pytest.mark.parametrize("how", ["text", "native", "script"])
def test_a_fifth_tool_is_taught(sandbox: Sandbox, tmp_path: Path, how: str) -> None:
    said = "I look.\n\n<tool: search>\nneedle\n</tool>"
    call = native("search", words="needle")
    found = Reply("I look.", call.calls) if how == "native" else Reply(said)
    submit = native("submit") if how == "native" else Reply("<tool: submit>\n</tool>")
    trajectory = play(sandbox, Says(found, submit, Reply("Done.")), native=how == "native")
    if how == "script":
        trajectory = replace(trajectory, record=Record())
        said = said.removeprefix("I look.\n\n")
    told, task, *rest = taught(trajectory, tmp_path)
    assert (told, task) == READER.opening("needle") and "<tool: search>\ndef main\n</tool>" in told.content
    assert [message.role for message in rest] == ["assistant", "user", "assistant", "user", "assistant"]
    assert (rest[0].content, rest[0].malformed) == (said, False) and "needle two" in rest[1].content


def test_every_stage_is_told_of_a_fifth_tool() -> None:
    told = list[Message]()

    def converse(opening: Sequence[Message]) -> ChatConversation:
        told.extend(opening)
        return ChatConversation(Says(), "says", "injector", opening, toolset=TOOLS)

    StagedInjector(InjectorTask("removal", 0, 0, Suite((), {})), "says", converse, TOOLS)
    assert "<tool: search>\ndef main\n</tool>" in told[0].content


def test_a_toolset_of_one_repairs_with_its_own_example(sandbox: Sandbox) -> None:
    """Where the tool that was tried is not known, the first of the toolset is shown."""
    toolset = Toolset("one", (SEARCH,))
    model = Says(Reply("Hm."), Reply("<tool: bash>\nls\n</tool>"), Reply("Hm."), Reply("Hm."), Reply("Hm."))
    conversation = ChatConversation(model, "says", "reader", (), toolset=toolset)
    trajectory = played(conversation, sandbox, "reader", toolset=toolset)
    assert [step.output.rpartition("like this:\n")[2] for step in trajectory.steps[:2]] == [
        "<tool: search>\ndef main\n</tool>"
    ] * 2
    assert "There is no tool 'bash'. The tools are: search." in trajectory.steps[1].output


@pytest.mark.parametrize("tool", TOOLS.tools, ids=lambda tool: tool.name)
def test_every_example_can_be_written_and_read(tool: Tool) -> None:
    call = call_format.parse(call_format.example(tool, TOOLS), TOOLS)
    assert call is not None and not isinstance(call, call_format.Malformed)
    assert (call.tool, call.arguments) == (tool.name, tool.normal(tool.example))


@pytest.mark.parametrize("name", ["", "Search", "two words", "x" * 41, "a>b", "search2"])
def test_a_name_that_no_tag_can_hold_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a tool name"):
        Tool(name, "", {}, search, WORDS, {})


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="and unique tool names"):
        Toolset("twice", (SEARCH, SEARCH))


def test_a_form_may_refuse_what_it_reads() -> None:
    def read(body: str, options: str) -> dict[str, Any]:
        raise CallParseError("never.")

    picky = Tool("picky", "", {}, search, TextForm(read, lambda arguments: ("", "")), {})
    turn = call_format.parse("<tool: picky>\n</tool>", Toolset("picky", (picky,)))
    assert isinstance(turn, call_format.Malformed) and (turn.why, turn.tool) == ("picky: never.", "picky")
