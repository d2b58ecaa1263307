"""What `selfplay trajectories export` does: write the lessons of a run as JSON lines."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from selfplay.agent.chat_format import ChatFormat
from selfplay.artifact.files import make_folder, write_atomically
from selfplay.commands.asked_roles import BOTH, asked_roles
from selfplay.curriculum import CurriculumError, read_pool
from selfplay.curriculum.reading_bounds import bounded_reading
from selfplay.export.lessons import LessonFormat, lesson_rows
from selfplay.owned_folders import rights_of
from selfplay.plain_text import well_formed
from selfplay.policies.tokenizer import load_tokenizer


@dataclass(frozen=True)
class LessonOrder:
    """What the user asked for. `role`: a role's name, or `both`; `most_tokens` needs a `tokenizer`."""

    run: Path
    out: Path
    role: str = BOTH
    tokenizer: str | None = None
    observation_chars: int = 16_000
    most_tokens: int | None = None
    scripted: bool = False


def write_lessons(order: LessonOrder) -> dict[str, int]:
    """Write the file. Returns the number of examples of each role, and the number left out for each reason.

    Raises `SelfplayError` for what the user can fix, before anything is written.
    """
    roles = asked_roles(order.role)
    if not order.out.name.endswith((".jsonl", ".jsonl.zst")):
        raise CurriculumError(f"{order.out} is not named .jsonl or .jsonl.zst", "Give --out one of these endings.")
    if order.most_tokens and not order.tokenizer:
        raise CurriculumError("--most-tokens counts tokens of a tokenizer", "Name one with --tokenizer.")
    chat = ChatFormat(load_tokenizer(order.tokenizer)) if order.tokenizer else None
    form = LessonFormat(roles, chat, order.observation_chars, order.most_tokens, order.scripted)
    data, counts = bounded_reading([order.run], lambda: _lessons(order.run, form))
    make_folder(order.out.parent)
    packed = zstandard.compress(data) if order.out.suffix == ".zst" else data
    write_atomically(order.out, packed, rights_of(order.run))
    return counts


def _lessons(run: Path, form: LessonFormat) -> tuple[bytes, dict[str, int]]:
    with read_pool(run) as pool:
        rows, counts = lesson_rows(pool, form)
    return "".join(map(_line, rows)).encode(), counts


def _line(row: Mapping[str, Any]) -> str:
    """A row as JSON, whose texts are whole characters: for a half of one, which a tool may print, readers refuse the
    whole file."""
    return well_formed(json.dumps(row, ensure_ascii=False)) + "\n"
