"""What a policy may do and what it sees: calls of tools, and observations with the budget that is left."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """One use of one tool: `bash(command[, timeout])`, `edit(path, old, new)`, `create(path, content)`,
    `submit(folder)`."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """What is left of an episode: calls and wall seconds."""

    calls: int
    seconds: float

    @property
    def text(self) -> str:
        return f"[{self.calls} calls and {max(0, round(self.seconds))} s left]"


@dataclass(frozen=True)
class Observation:
    """What a call gave back. `exit_code` is a command's, 0 for another tool that worked, 1 for one that did not.

    `output` is capped (head and tail kept, the cut marked). `text` is what a model reads.
    """

    output: str
    exit_code: int
    budget: Budget

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def text(self) -> str:
        status = "" if self.ok else f"\n[exit code {self.exit_code}]"
        return f"{self.output.rstrip()}{status}\n{self.budget.text}"


def readable(turn: object) -> Call:
    """`turn` where it is a call; else a call of no tool that says what came, so that it is answered and kept."""
    if isinstance(turn, Call) and isinstance(turn.tool, str) and isinstance(turn.arguments, dict):
        return turn
    return Call("(not a call)", {"turn": repr(turn)[:1000]})


def cap(text: str, limit: int) -> str:
    """At most `limit` characters of `text`: its head and its tail, with a line saying how much was cut between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"
