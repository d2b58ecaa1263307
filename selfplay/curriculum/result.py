"""What goes into the pool and comes out of it, as values."""

from dataclasses import dataclass
from typing import Any

from selfplay.artifact import Artifact, Bug
from selfplay.errors import SelfplayError

DUPLICATE = "the same buggy tree as an earlier bug"


class CurriculumError(SelfplayError):
    """A run folder that cannot be used: busy, made with other settings, or damaged."""


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
