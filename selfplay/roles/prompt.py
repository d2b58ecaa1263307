"""The part of the prompt that all roles share: the place, the tools, the budget."""

from selfplay import prompts
from selfplay.agent import call_format
from selfplay.agent.model import Message
from selfplay.agent.toolset import COMMAND_SECONDS, Toolset
from selfplay.sandbox import WORKDIR


def opening(task: str, native: bool, toolset: Toolset) -> tuple[Message, ...]:
    """The messages an episode begins with. `native`: the endpoint describes the tools to the model itself."""
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "note": tool.note,
            "example": call_format.example(tool, toolset),
        }
        for tool in toolset.tools
    ]
    system = prompts.render(
        "system", root=WORKDIR, native=native, tools=tools, command_seconds=round(COMMAND_SECONDS)
    )  # fmt: skip
    return (Message("system", system), Message("user", task))
