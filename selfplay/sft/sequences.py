"""Lessons as exact tokens of one model: ids, and a mask that is 1 where to learn.

An episode that was taped with this model's tokenizer gives the very ids that were sampled, never rendered again. Others
are rendered once, in the model's own template. Malformed calls stay in, and are not imitated (mask 0).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from selfplay.agent import Finish, Trajectory
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message
from selfplay.agent.tape import Segment
from selfplay.agent.trajectory import TrajectoryError, load
from selfplay.curriculum import Curriculum
from selfplay.errors import SelfplayError
from selfplay.sft.lessons import Role, Success, lessons, successes, tokens


class ForeignTape(SelfplayError):
    """A tape of another tokenizer or chat template."""


@dataclass(frozen=True)
class Lecture:
    """One sequence to learn from. `family`: the first-order bug it is about; `taped`: the ids are those sampled."""

    name: str
    role: Role
    family: str
    ids: Sequence[int]
    mask: Sequence[int]
    taped: bool


@dataclass(frozen=True)
class Wanted:
    """Which lessons. `strict`: only episodes that ended by handing in, without one malformed call; else all successful
    ones. `render`: render taped episodes too, as for a teacher with another tokenizer."""

    roles: tuple[Role, ...]
    strict: bool = False
    render: bool = False
    observation_chars: int = 16_000


def lectures(pool: Curriculum, chat: ChatFormat, wanted: Wanted, counts: Counter[str]) -> Iterator[Lecture]:
    """The lessons of a run as tokens; what has none is counted by its reason. Raises `ForeignTape`."""
    said = set[tuple[str, ...]]()
    for success in successes(pool, wanted.roles):
        try:
            trajectory = load(success.path, linked=False)
            if wanted.strict and not _clean(trajectory):
                counts["not strict: a malformed call, or ended by a budget"] += 1
                continue
            if trajectory.record.segments and not wanted.render:
                yield from _taped(trajectory, success, chat)
                continue
            found = lessons(success, wanted.observation_chars)
        except TrajectoryError:
            counts["damaged, missing, or a tape that is not its conversation's"] += 1
            continue
        if not found:
            counts["the call format cannot say it"] += 1
        for lesson in found:
            if lesson.words in said:
                counts["the same was said before"] += 1
                continue
            said.add(lesson.words)
            row = tokens(lesson.messages, chat)
            yield Lecture(lesson.id, lesson.role, success.family, row["ids"], row["mask"], False)


def _clean(trajectory: Trajectory) -> bool:
    return trajectory.finish == Finish.SUBMITTED and not trajectory.figures.malformed


def _taped(trajectory: Trajectory, success: Success, chat: ChatFormat) -> list[Lecture]:
    """A lecture for each segment. Raises `ForeignTape`, and `TrajectoryError` for a tape that does not hold the answers
    of its conversations one by one."""
    segments, name = trajectory.record.segments, success.path.name.removesuffix(".jsonl.zst")
    spans = [(number, *span) for number, segment in enumerate(segments) for span in _spans(segment)]
    answers = [m for conversation in trajectory.record.conversations for m in conversation if m.role == "assistant"]
    if len(spans) != len(answers):
        raise TrajectoryError(f"{name}: {len(spans)} sampled parts on the tape, {len(answers)} answers")
    _check_own(trajectory, chat, name)
    masks = [[0] * len(segment.ids) for segment in segments]
    unanswered = answers[-1] if trajectory.finish != Finish.SUBMITTED and _ends_with_answer(trajectory) else None
    for (number, begin, end), answer in zip(spans, answers, strict=True):
        ids = segments[number].ids[begin:end]
        if not answer.malformed and not answer.calls and answer.content.strip() not in chat.tokenizer.decode(ids):
            raise _foreign(name, "an answer reads otherwise")
        if not answer.malformed and answer is not unanswered:
            masks[number][begin:end] = [1] * (end - begin)
    return [
        Lecture(f"{name}-{number}", success.role, success.family, segment.ids[:last], mask[:last], True)
        for number, (segment, mask) in enumerate(zip(segments, masks, strict=True))
        if (last := len(mask) - mask[::-1].index(1) if any(mask) else 0)
    ]


def _check_own(trajectory: Trajectory, chat: ChatFormat, name: str) -> None:
    """Raises `ForeignTape` unless the tape begins as this model's template begins the conversation."""
    told: list[Message] = []
    for message in trajectory.record.conversations[0]:
        if message.role == "assistant":
            break
        told.append(message)
    begun = chat.opening(told)
    if list(trajectory.record.segments[0].ids[: len(begun)]) != begun:
        raise _foreign(name, "it begins otherwise")


def _foreign(name: str, how: str) -> ForeignTape:
    return ForeignTape(
        f"{name} was taped with another tokenizer or chat template than this model's: {how}",
        "Train the model that played it, or have its messages rendered for this one (--render).",
    )


def _spans(segment: Segment) -> Iterator[tuple[int, int]]:
    """Begin and end of each answer; in files of before format 3, of each run of sampled ids."""
    if segment.stretches:
        yield from ((stretch.start, stretch.end) for stretch in segment.stretches)
        return
    at = 0
    for sampled, part in groupby(segment.mask):
        length = len(list(part))
        if sampled:
            yield at, at + length
        at += length


def _ends_with_answer(trajectory: Trajectory) -> bool:
    return trajectory.record.conversations[-1][-1].role == "assistant"
