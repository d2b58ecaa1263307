"""What a policy may do and what it sees: turns (a call, a malformed one, a stop) and observations with the budget."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Finish(StrEnum):
    """Why an episode ended."""

    SUBMITTED = "submitted"
    GAVE_UP = "gave_up"
    OUT_OF_CALLS = "out_of_calls"
    OUT_OF_TIME = "out_of_time"
    OUT_OF_CONTEXT = "out_of_context"
    NO_CALL = "no_call"
    MALFORMED = "malformed"
    LOOPED = "looped"
    SANDBOX_LOST = "sandbox_lost"
    POLICY_ERROR = "policy_error"


@dataclass(frozen=True)
class Call:
    """One use of one tool of the role's toolset.

    `said`: the model's own words this was read from; empty for a policy that has none.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    said: str = ""


@dataclass(frozen=True)
class Malformed:
    """A turn that is not a call. `why` is the observation it is answered with; it uses up one call of the budget.

    `tool`: the one it tried to call, where that can be told.
    """

    said: str
    why: str
    tool: str = ""


@dataclass(frozen=True)
class Stop:
    """The policy has nothing more to do. `finish` labels an end that is not the policy's own wish."""

    said: str = ""
    finish: Finish | None = None


Turn = Call | Malformed | Stop | None
"""None is a stop without words."""


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

    `output` is capped (head and tail kept, the cut marked). `malformed`: the turn was not a call that can be carried
    out. `submitted`: something was handed in.
    """

    output: str
    exit_code: int
    budget: Budget
    malformed: bool = False
    submitted: bool = False

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def text(self) -> str:
        status = "" if self.ok else f"\n[exit code {self.exit_code}]"
        return f"{self.output.rstrip()}{status}\n{self.budget.text}"


def readable(turn: object) -> Call | Malformed:
    """`turn` where it is a call or is known to be malformed; anything else as a call of no tool that says what came,
    so that it is answered and kept."""
    if isinstance(turn, Malformed):
        return turn
    if isinstance(turn, Call) and isinstance(turn.tool, str) and isinstance(turn.arguments, dict):
        return turn
    return Call("(not a call)", {"turn": repr(turn)[:1000]})


def cap(text: str, limit: int) -> str:
    """At most `limit` characters of `text`: its head and its tail, with a line saying how much was cut between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"
