"""The pool's records as typed values.

Figures that are read keep fields that this version does not know, so that a pool may pass through an older version
without loss; figures that are made may not have any.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from selfplay.artifact import Artifact, Bug
from selfplay.artifact.decoding import parse_json, typed
from selfplay.artifact.reading import UntrustedDataError
from selfplay.errors import SelfplayError
from selfplay.plain_text import shown, storable

DUPLICATE = "the same buggy tree, or the same task for a solver, as an earlier bug"
PROMOTED, REPEATED = "promoted", "duplicate"
Status = Literal["valid", "invalid", "duplicate", "gave_up", "failed", "unplayed"]
MOST_COUNT = 1_000_000_000
"""The highest count, number or place in a pool."""
MOST_ADDED_TO = MOST_COUNT // 2
"""The highest from which a next one is made: it leaves room for more than anybody adds."""
MOST_SECONDS = 1e12
"""The longest time in a pool, so that sums over any number of rows stay finite."""
Count = Annotated[int, Field(ge=0, le=MOST_COUNT)]
Seconds = Annotated[float, Field(ge=-MOST_SECONDS, le=MOST_SECONDS, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Versions = tuple[int, int]
"""The first and the last weight version of a policy that sampled in an episode."""
STORED = "stored"
"""The context in which a row of the pool is read."""


class CurriculumError(SelfplayError):
    """A run folder that cannot be used: busy, made with other settings, or damaged."""


class OtherSettings(CurriculumError):
    """A run, or one of its repositories, would continue with other settings than it was made with."""


class PlayFigures(BaseModel):
    """The figures of any episode. `seconds`: all of it, including checks or grading; `episode_seconds`: play
    alone."""

    model_config = ConfigDict(extra="allow", frozen=True)

    seconds: Seconds = 0.0
    episode_seconds: Seconds = 0.0
    calls: Count = 0
    finish: str = ""
    malformed: Count = 0
    drift: Count = 0
    usage: Mapping[str, Amount] = {}
    suite_runs: Count = 0

    @model_validator(mode="before")
    @classmethod
    def _known(cls, found: Any, info: ValidationInfo) -> Any:
        odd = found.keys() - cls.model_fields.keys() if isinstance(found, dict) else ()
        if odd and info.context != STORED:
            raise ValueError(f"{cls.__name__} has no field {min(odd)!r}")
        return storable(found)


class StoredEpisodeFigures(PlayFigures):
    """The figures of an injector episode. `fail_to_pass` and the diff's figures are for a valid one. `task`:
    equal for bugs of a repository whose weakenings, and so whose statements for a solver, are the same."""

    validation_seconds: Seconds = 0.0
    files: tuple[str, ...] = ()
    changed_lines: Count = 0
    fail_to_pass: Count = 0
    task: str = ""


class AttemptFigures(PlayFigures):
    """The figures of an attempt. `left_out`: changed paths that were not graded; `player`: the policy's own name;
    `assurance`: set if it passed every layer; `weaknesses`: why it is weak."""

    grading_seconds: Seconds = 0.0
    changed_lines: Count | None = None
    player: str = ""
    left_out: tuple[str, ...] = ()
    assurance: Literal["", "full", "weak"] = ""
    weaknesses: tuple[str, ...] = ()


@dataclass(frozen=True)
class EpisodeRecord:
    """A finished injector episode. `artifact` and `bug` are set for a valid one, and `artifact` only while it is
    stored.

    `group`: the episodes that training compares with it. `trajectory`: its file in `trajectories/`.
    """

    number: int
    strategy: str
    status: Status
    reason: str = ""
    figures: StoredEpisodeFigures = field(default_factory=StoredEpisodeFigures)
    failed_check: str | None = None
    tree_key: str | None = None
    artifact: Artifact | None = None
    bug: Bug | None = None
    repository: str = ""
    group: str = ""
    policy: str = ""
    versions: Versions = (0, 0)
    trajectory: str = ""


@dataclass(frozen=True)
class Attempt:
    """One finished attempt at a bug, filed under the name `policy`. `diff` is what was graded, empty when nothing was
    submitted. The attempts at one bug form a group in training."""

    bug: str
    policy: str
    number: int
    resolved: bool
    reason: str
    detail: str
    diff: str
    figures: AttemptFigures = field(default_factory=AttemptFigures)
    versions: Versions = (0, 0)
    trajectory: str = ""


@dataclass(frozen=True)
class Promotion:
    """The result for a failed attempt: a second-order bug with its artifact (status `promoted`), or why there is
    none."""

    parent: str
    policy: str
    number: int
    status: str
    tree_hash: str | None = None
    bug: Bug | None = None


@dataclass(frozen=True)
class RunProgress:
    """The progress reported to a watcher after every episode."""

    bugs: int
    wanted: int
    result: EpisodeRecord
    taken: tuple[Bug, ...]


DAMAGED = "Its bugs/ folders are whole: validate them there."
M = TypeVar("M", bound=BaseModel)


def plain_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row for writing: a NUL, at which SQLite's functions end a text, becomes U+FFFD; bytes that are no text are
    spelled out."""
    return tuple(shown(value).replace("\0", "\ufffd") if isinstance(value, str) else value for value in row)


def read_row(kind: type[M], text: str) -> M:
    """Reads a value from a row of the pool. Raises `CurriculumError` for a damaged row."""
    try:
        return typed(kind, parse_json(text.encode(), "it"), "it", STORED)
    except (UntrustedDataError, UnicodeEncodeError) as error:
        raise CurriculumError(f"a row of the pool is damaged: {error}".replace(": it: ", ": "), DAMAGED) from error


def bug_of_row(text: str) -> Bug:
    """Reads a bug from a row of the pool. Raises `CurriculumError` for a damaged row."""
    return read_row(Bug, text)
