"""What `selfplay trajectories export` does: the lessons of a run, written as JSON lines."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import zstandard

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.trajectory import TrajectoryError
from selfplay.artifact.files import write_atomically
from selfplay.curriculum import CurriculumError, read_pool
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.sft.lessons import Lesson, Role, lessons, successes


@dataclass(frozen=True)
class LessonOrder:
    """What the user asked for. `role`: a role's name, or `both`; `most_tokens` needs a `tokenizer`."""

    run: Path
    out: Path
    role: str = "both"
    tokenizer: str | None = None
    observation_chars: int = 16_000
    most_tokens: int | None = None


def write_lessons(order: LessonOrder) -> dict[str, int]:
    """Write the file. Returns how many examples of each role it holds, and how many were left out for which reason.

    Raises `SelfplayError` for what the user can mend, before anything is written.
    """
    roles: tuple[Role, ...] = tuple(role for role in get_args(Role) if order.role in (role, "both"))
    if not roles:
        raise CurriculumError(f"there is no role {order.role!r}", "The roles are injector, solver and both.")
    if not order.out.name.endswith((".jsonl", ".jsonl.zst")):
        raise CurriculumError(f"{order.out} is neither .jsonl nor .jsonl.zst", "Give --out one of these endings.")
    if order.most_tokens and not order.tokenizer:
        raise CurriculumError("--most-tokens counts tokens of a tokenizer", "Name one with --tokenizer.")
    chat = ChatFormat(load_tokenizer(order.tokenizer)) if order.tokenizer else None
    rows, counts = _rows(order, roles, chat)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    order.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(order.out, zstandard.compress(data) if order.out.suffix == ".zst" else data)
    return counts


def _rows(
    order: LessonOrder, roles: tuple[Role, ...], chat: ChatFormat | None
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter(dict.fromkeys(map(str, roles), 0))
    said = set[tuple[str, ...]]()
    for lesson in _lessons(order, roles, counts):
        if lesson.words in said:
            counts["the same was said before"] += 1
            continue
        said.add(lesson.words)
        row = lesson.to_json(chat)
        if order.most_tokens and len(row["ids"]) > order.most_tokens:
            counts["too long"] += 1
            continue
        rows.append(row)
        counts[lesson.role] += 1
    return rows, dict(counts)


def _lessons(order: LessonOrder, roles: tuple[Role, ...], counts: Counter[str]) -> Iterator[Lesson]:
    """What the successes of a run teach; those that teach nothing are counted."""
    with read_pool(order.run) as pool:
        for success in successes(pool, roles):
            try:
                found = lessons(success, order.observation_chars)
            except TrajectoryError:
                counts["damaged or missing"] += 1
                continue
            if not found:
                counts["the call format cannot say it"] += 1
            yield from found
