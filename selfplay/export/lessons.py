"""Lessons as rows of JSON: `messages` with `train`, and with a tokenizer the exact `input_ids`, `attention_mask` and
`labels`, with their bug and reward.

A row is a dictionary; identical lessons of several episodes are written once.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.trajectory_file import TrajectoryError
from selfplay.curriculum import Curriculum
from selfplay.export.rewards import rewards_of
from selfplay.rl.credit.rules import RoleName
from selfplay.sft.lessons import UNSAID, Lesson, NoLesson, lessons
from selfplay.sft.successes import LEFT_OUT, Success, successes


@dataclass(frozen=True)
class LessonFormat:
    """What rows contain. `observation_chars`: the cap of an observation in a script's episode; `most_tokens`: longer
    lessons are left out, which needs `chat`, the chat format of a tokenizer. `scripted`: scripts' own episodes too."""

    roles: tuple[RoleName, ...]
    chat: ChatFormat | None = None
    observation_chars: int = 16_000
    most_tokens: int | None = None
    scripted: bool = False


def lesson_rows(pool: Curriculum, form: LessonFormat) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The rows, and the counts: rows of each role, and rows left out for each reason."""
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter(dict.fromkeys(map(str, form.roles), 0))
    said, earned = set[tuple[str, ...]](), rewards_of(pool)
    for success, lesson in _lessons(pool, form, counts):
        if lesson.words in said:
            counts["the same was said before"] += 1
            continue
        said.add(lesson.words)
        row = lesson.to_json(form.chat, earned.get(success.path.name))
        if form.most_tokens and len(row["input_ids"]) > form.most_tokens:
            counts["too long"] += 1
            continue
        rows.append(row)
        counts[lesson.role] += 1
        if lesson.unsaid:
            counts[UNSAID] += lesson.unsaid
    return rows, dict(counts)


def _lessons(pool: Curriculum, form: LessonFormat, counts: Counter[str]) -> Iterator[tuple[Success, Lesson]]:
    """The lessons of a run's successes; successes without a lesson are counted."""
    for success in successes(pool, form.roles):
        if success.scripted and not form.scripted:
            counts[LEFT_OUT] += 1
            continue
        try:
            found = lessons(success, form.observation_chars)
        except TrajectoryError:
            counts["damaged or missing"] += 1
            continue
        except NoLesson as why:
            counts[str(why)] += 1
            continue
        yield from ((success, lesson) for lesson in found)
