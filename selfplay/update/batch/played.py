"""A finished episode with its tape, as a value: exactly what credit and an update need."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from selfplay.agent.model import Sampling
from selfplay.agent.tape import Segment
from selfplay.agent.taped_answers import TapedAnswer, taped_answers
from selfplay.agent.trajectory import Trajectory
from selfplay.agent.trajectory_file import TrajectoryError
from selfplay.rl.credit.rules import CreditedEpisode
from selfplay.update.batch.figures import SecondsSpent


@dataclass(frozen=True)
class Played:
    """`answers`: the sampled parts of `segments`. `finish`: why the episode ended. `damage`: why its tape cannot be
    used; empty if it can, or without a tape. `episode.tokens` and `prompt` come from the tape. `check` and `alike`: see
    `StoredEpisode`. `sampling`: how its tokens were sampled; None if only its run records it. `spent`: None if
    that is unknown."""

    episode: CreditedEpisode
    segments: tuple[Segment, ...] = ()
    answers: tuple[TapedAnswer, ...] = ()
    finish: str = ""
    damage: str = ""
    check: str = ""
    alike: str = ""
    sampling: Sampling | None = None
    spent: SecondsSpent | None = None

    @property
    def oldest(self) -> int:
        """The oldest policy version that sampled in it; 0 without tokens."""
        return min((one.versions[0] for one in self.answers), default=0)

    @property
    def newest(self) -> int:
        """The newest policy version that sampled in it; 0 without tokens."""
        return max((one.versions[1] for one in self.answers), default=0)


def played(episode: CreditedEpisode, trajectory: Trajectory) -> Played:
    """A credited episode with the tape of its trajectory. Raises `TrajectoryError` for a tape that was cut short or has
    infinite log-probabilities."""
    answers = taped_answers(trajectory, episode.name)
    segments = trajectory.record.segments
    tokens = sum(one.tokens for one in answers)
    if any(math.isinf(value) for one in answers for value in segments[one.segment].logprobs[one.start : one.end]):
        raise TrajectoryError(f"{episode.name}: the engine recorded probability 0 (-inf) for a token that it sampled")
    return Played(
        replace(episode, tokens=tokens, prompt=_prompt(segments, answers)),
        segments,
        tuple(answers),
        str(trajectory.finish),
        sampling=trajectory.record.sampling,
    )


def untaped(episode: CreditedEpisode, finish: str, damage: str = "") -> Played:
    """An episode without a tape, or with one that cannot be used."""
    return Played(replace(episode, tokens=0, damaged=bool(damage)), finish=finish, damage=damage)


def named(found: Iterable[Played], prefix: str) -> list[Played]:
    """The episode with a name that is unique among several runs."""
    return [replace(one, episode=replace(one.episode, name=f"{prefix}/{one.episode.name}")) for one in found]


def _prompt(segments: tuple[Segment, ...], answers: list[TapedAnswer]) -> str:
    """Identifies the prompt: a hash of the ids before the first answer."""
    if not answers:
        return ""
    return hashlib.sha256(segments[0].ids[: answers[0].start].tobytes()).hexdigest()[:16]
