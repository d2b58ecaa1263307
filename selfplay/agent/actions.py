"""What a policy does and what it sees: turns (a call, a malformed call, a stop) and observations with the budget."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from selfplay.formatting import count


class Finish(StrEnum):
    """Why an episode ended. A submission ends none: the last one counts."""

    # the policy stopped, after a submission or before one
    SUBMITTED = "submitted"
    GAVE_UP = "gave_up"
    # the episode's loop ended it (`episode.py`)
    OUT_OF_CALLS = "out_of_calls"
    OUT_OF_TIME = "out_of_time"
    LOOPED = "looped"
    SANDBOX_LOST = "sandbox_lost"
    POLICY_ERROR = "policy_error"
    # a model's conversation ended it (`conversation.py`)
    OUT_OF_CONTEXT = "out_of_context"
    NO_CALL = "no_call"
    MALFORMED = "malformed"
    # a loop over episodes set it aside (`rollout/retries.py`): its commands met a limit of the sandbox again and again,
    # or it could not be played
    OVER_LIMITS = "over_limits"
    UNPLAYED = "unplayed"


@dataclass(frozen=True)
class Call:
    """One use of one tool of the role's toolset.

    `said`: the model's message that it was parsed from; empty for a policy without messages.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    said: str = ""


@dataclass(frozen=True)
class Malformed:
    """A turn that is not a call. `why` is shown to the policy as the observation; the turn costs one call of the
    budget.

    `tool`: the tool that it tried to call, if known.
    """

    said: str
    why: str
    tool: str = ""


@dataclass(frozen=True)
class Stop:
    """The policy has nothing more to do. `finish` labels an end that the policy did not choose."""

    said: str = ""
    finish: Finish | None = None


Turn = Call | Malformed | Stop | None
"""A turn; None is a stop without a message."""


@dataclass(frozen=True)
class Budget:
    """The rest of an episode's budget: calls and wall seconds."""

    calls: int
    seconds: float

    @property
    def text(self) -> str:
        return f"[{count(self.calls, 'call')} and {max(0, round(self.seconds))} s left]"


@dataclass(frozen=True)
class Observation:
    """The result of a call. `exit_code`: the command's; for other tools 0 on success and 1 on failure.

    `output` is a command's, capped (head and tail kept, the cut marked), or a tool's line. `malformed`: the turn was
    not a call that can be run. `submitted`: something was submitted.
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
        """For people and logs; a model reads `prompts/observation.j2`."""
        status = "" if self.ok else f"\n[exit code {self.exit_code}]"
        return f"{self.output.rstrip()}{status}\n{self.budget.text}"
