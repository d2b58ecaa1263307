"""One finished episode as a value: its steps, what a model recorded, how it ended. Its file: `trajectory_file.py`."""

from dataclasses import dataclass, field

from selfplay.agent.actions import Budget, Call, Finish
from selfplay.agent.model import Message, Sampling, Usage
from selfplay.agent.tape import Segment

MALFORMED = "(malformed)"
"""The tool name of a step whose turn was not a call."""


@dataclass(frozen=True)
class Step:
    """One call and its observation; `seconds` is the tool's wall time, `left` the budget after it.

    `malformed`: the turn was not a call, or it called an unknown tool, or it had arguments that the tool does not take.
    """

    call: Call
    output: str
    exit_code: int
    seconds: float
    malformed: bool = False
    left: Budget | None = None


@dataclass(frozen=True)
class Record:
    """What a model's policy records of an episode. `conversations`: every message, one conversation or one per stage of
    a staged role; `drift`: ids lost between turns; `thoughts`: reasoning an endpoint kept apart, one entry per message;
    `seconds`: the model's time for each message (a tool's time is in its step); `sampling`: the requested sampling,
    None in older files."""

    conversations: tuple[tuple[Message, ...], ...] = ()
    segments: tuple[Segment, ...] = ()
    drift: int = 0
    usage: Usage = field(default_factory=Usage)
    thoughts: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    sampling: Sampling | None = None


@dataclass(frozen=True)
class Trajectory:
    """All steps of one episode. `submission` is the last submitted folder, None when nothing was submitted.

    `last_words`: the message that ended it. `record`: what a model's policy recorded, empty for a script.
    """

    role: str
    policy: str
    finish: Finish
    steps: tuple[Step, ...] = field(default_factory=tuple)
    submission: str | None = None
    seconds: float = 0.0
    error: str = ""
    last_words: str = ""
    record: Record = field(default_factory=Record)

    @property
    def outage(self) -> bool:
        """Whether a model failed to answer. Such an episode says nothing about the policy and does not count as
        finished. A failed script has no conversation and is not an outage."""
        return self.finish == Finish.POLICY_ERROR and bool(self.record.conversations)

    @property
    def ending(self) -> str:
        """How it ended, in words, with the error if there was one."""
        words = self.finish.replace("_", " ")
        return f"{words}: {self.error}" if self.error else words

    @property
    def figures(self) -> "EpisodeFigures":
        """The counts of the episode."""
        malformed = sum(step.malformed for step in self.steps)
        record = self.record
        return EpisodeFigures(self.seconds, len(self.steps), self.finish, malformed, record.drift, record.usage)


@dataclass(frozen=True)
class EpisodeFigures:
    """The counts of an episode: its wall seconds, its calls, its malformed calls, ids lost between turns, and what the
    model's answers cost."""

    seconds: float
    calls: int
    finish: Finish
    malformed: int
    drift: int
    usage: Usage
