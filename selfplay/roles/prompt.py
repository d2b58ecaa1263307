"""What every role is told before its task: where it is, its tools, its budget."""

from selfplay import prompts
from selfplay.agent.model import Message
from selfplay.agent.tools import COMMAND_SECONDS
from selfplay.sandbox import WORKDIR


def opening(task: str, native: bool) -> tuple[Message, ...]:
    """The messages an episode begins with. `native`: the endpoint is told of the tools by itself."""
    system = prompts.render("system", root=WORKDIR, native=native, command_seconds=round(COMMAND_SECONDS))
    return (Message("system", system), Message("user", task))
