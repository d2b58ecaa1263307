"""Lessons as exact tokens of one model: ids, and a mask that is 1 where to learn.

An episode that was taped with this model's tokenizer gives the sampled ids, never rendered again. Others are rendered
once, in the model's template. Malformed calls stay in but are not imitated (mask 0).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from selfplay.agent import Finish, Trajectory
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.taped_answers import check_own, taped_answers
from selfplay.agent.trajectory_file import TrajectoryError, load
from selfplay.curriculum import Curriculum
from selfplay.rl.credit.rules import RoleName
from selfplay.sft.lessons import NOTHING_GOOD, UNSAID, NoLesson, lessons, tokens
from selfplay.sft.successes import LEFT_OUT, Success, successes

RENDER = "Train the model that played it, or have its messages rendered for this one (--render)."


@dataclass(frozen=True)
class Lecture:
    """One sequence to learn from. `family`: the first-order bug it is about; `taped`: the ids are the sampled ones."""

    name: str
    role: str
    family: str
    ids: Sequence[int]
    mask: Sequence[int]
    taped: bool


@dataclass(frozen=True)
class LessonsWanted:
    """Which lessons. `strict`: only episodes that ended with a submission and without malformed calls; else all
    successful ones. `render`: render taped episodes too, for a teacher with another tokenizer. `repeats`: keep
    duplicate rendered lessons, so that the common first stage of each bug is learned as often as its other stages.
    `scripted`: scripts' own episodes too."""

    roles: tuple[RoleName, ...]
    strict: bool = False
    render: bool = False
    observation_chars: int = 16_000
    repeats: bool = False
    scripted: bool = False


def lectures(pool: Curriculum, chat: ChatFormat, wanted: LessonsWanted, counts: Counter[str]) -> Iterator[Lecture]:
    """The lessons of a run as tokens; episodes without one are counted by reason. Raises `TokenizerMismatch`."""
    said = set[tuple[str, ...]]()
    for success in successes(pool, wanted.roles):
        if success.scripted and not wanted.scripted:
            counts[LEFT_OUT] += 1
            continue
        try:
            trajectory = load(success.path, linked=False)
            if wanted.strict and not _clean(trajectory):
                counts["not strict: a malformed call, or ended by a budget"] += 1
                continue
            if trajectory.record.segments and not wanted.render:
                made = _taped(trajectory, success, chat)
                counts[NOTHING_GOOD] += not made
                yield from made
                continue
            found = lessons(success, wanted.observation_chars)
        except TrajectoryError:
            counts["damaged, missing, or a tape that is not its conversation's"] += 1
            continue
        except NoLesson as why:
            counts[str(why)] += 1
            continue
        for lesson in found:
            if lesson.words in said and not wanted.repeats:
                counts["the same was said before"] += 1
                continue
            said.add(lesson.words)
            if lesson.unsaid:
                counts[UNSAID] += lesson.unsaid
            row = tokens(lesson.messages, chat)
            yield Lecture(lesson.id, lesson.role, success.family, row["ids"], row["mask"], False)


def _clean(trajectory: Trajectory) -> bool:
    return trajectory.finish == Finish.SUBMITTED and not trajectory.figures.malformed


def _taped(trajectory: Trajectory, success: Success, chat: ChatFormat) -> list[Lecture]:
    """A lecture for each segment. Raises `TokenizerMismatch`, and `TrajectoryError` for a tape that does not match its
    conversations answer by answer."""
    segments, name = trajectory.record.segments, success.path.name.removesuffix(".jsonl.zst")
    answers = taped_answers(trajectory, name)
    check_own(trajectory, answers, chat, name, RENDER)
    masks = [[0] * len(segment.ids) for segment in segments]
    cut_short = trajectory.finish != Finish.SUBMITTED and _ends_with_answer(trajectory)
    for one in answers[:-1] if cut_short else answers:  # the last call was never answered
        if not one.malformed:
            masks[one.segment][one.start : one.end] = [1] * one.tokens
    return [
        Lecture(f"{name}-{number}", success.role.name, success.family, segment.ids[:last], mask[:last], True)
        for number, (segment, mask) in enumerate(zip(segments, masks, strict=True))
        if (last := len(mask) - mask[::-1].index(1) if any(mask) else 0)
    ]


def _ends_with_answer(trajectory: Trajectory) -> bool:
    return trajectory.record.conversations[-1][-1].role == "assistant"
