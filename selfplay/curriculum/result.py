"""What goes into the pool and comes out of it, as values."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from selfplay.artifact import Artifact, Bug
from selfplay.errors import SelfplayError

DUPLICATE = "the same buggy tree as an earlier bug"


class CurriculumError(SelfplayError):
    """A run folder that cannot be used: busy, made with other settings, or damaged."""


def bug_of_row(text: str) -> Bug:
    """A bug as the pool keeps it. Raises `CurriculumError` for a row that is damaged."""
    try:
        return Bug.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise CurriculumError(
            f"a row of the pool is damaged: {where}: {first['msg']}",
            "Its bugs/ folders are whole: validate them there.",
        ) from error


@dataclass(frozen=True)
class EpisodeResult:
    """What one injector episode came to. `artifact` and `bug` are set for a valid one."""

    number: int
    strategy: str
    status: str
    reason: str
    figures: dict[str, Any]
    failed_check: str | None = None
    tree_key: str | None = None
    artifact: Artifact | None = None
    bug: Bug | None = None


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after every episode."""

    bugs: int
    wanted: int
    result: EpisodeResult
    taken: tuple[Bug, ...]
