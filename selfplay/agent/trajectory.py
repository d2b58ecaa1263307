"""One finished episode as a value, and its file: JSON lines, the first the episode, then a line per step."""

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from selfplay.agent.actions import Call
from selfplay.artifact.files import write_atomically


class Finish(StrEnum):
    """Why an episode ended."""

    SUBMITTED = "submitted"
    GAVE_UP = "gave_up"
    OUT_OF_CALLS = "out_of_calls"
    OUT_OF_TIME = "out_of_time"
    SANDBOX_LOST = "sandbox_lost"
    POLICY_ERROR = "policy_error"


@dataclass(frozen=True)
class Step:
    """One call and what it gave; `seconds` is the tool's wall time."""

    call: Call
    output: str
    exit_code: int
    seconds: float


@dataclass(frozen=True)
class Trajectory:
    """All steps of one episode. `submission` is the folder handed in last, None when nothing was."""

    role: str
    policy: str
    finish: Finish
    steps: tuple[Step, ...] = field(default_factory=tuple)
    submission: str | None = None
    seconds: float = 0.0
    error: str = ""


def save(trajectory: Trajectory, path: Path) -> None:
    """Write the trajectory as JSON lines, atomically."""
    head = {k: v for k, v in asdict(trajectory).items() if k != "steps"}
    lines = [head, *(asdict(step) for step in trajectory.steps)]
    text = "".join(json.dumps(line, default=repr) + "\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def load(path: Path) -> Trajectory:
    """Read what `save` wrote."""
    head, *steps = (json.loads(line) for line in path.read_text().splitlines())
    head["finish"] = Finish(head["finish"])
    return Trajectory(**head, steps=tuple(Step(**{**step, "call": Call(**step["call"])}) for step in steps))
