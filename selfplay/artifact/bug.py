"""`bug.json`: the metadata of a verified bug, besides its five files. Typed, and strict about the known fields.

A later version with the same `schema_version` may add fields: they are kept unchanged and written back. A higher
`schema_version` means that fields changed their meaning: such a bug is refused.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from selfplay.artifact.decoding import first_fault, parse_json
from selfplay.artifact.environment import ObjectId, recorded_environment
from selfplay.artifact.files import ArtifactError, write_atomically
from selfplay.artifact.reading import MIB, MissingError, UntrustedDataError, read_below
from selfplay.artifact.verdict import Verdict

BUG_FILE = "bug.json"
MOST_BUG_BYTES = 16 * MIB
ID = r"[a-z0-9][a-z0-9_.-]{0,127}"
"""The pattern of a bug's name, which is also its folder's; no other text becomes part of a path."""
BugId = Annotated[str, Field(pattern=f"^{ID}$")]
SCHEMA_VERSION: Literal[1] = 1
DAMAGED = "It is not as selfplay wrote it: take the bug's folder again from the run that made it, or leave it out."


class FailedAttempt(BaseModel):
    """The failed attempt in a second-order bug: its policy, its number, and the SHA-256 of its diff."""

    model_config = ConfigDict(extra="allow", frozen=True)

    policy: str
    number: int = Field(ge=0)
    sha256: str


class Imported(BaseModel):
    """Where an imported task comes from: the format of its row, the row's own name, and the SHA-256 of the row.
    `weakened`: whether tests were hidden from its solver, so that there is a `test_weaken.diff`. `statement`: the task
    in words, for the solver."""

    model_config = ConfigDict(extra="allow", frozen=True)

    form: str = Field(pattern="^[a-z0-9]{1,40}$")
    instance: str = Field(max_length=1000)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    weakened: bool
    statement: str = Field(min_length=1, max_length=1_000_000)


_VERDICTS = TypeAdapter(tuple[Verdict, ...])


class Bug(BaseModel):
    """Identity, lineage, origin and measured behaviour of one bug.

    `fail_to_pass`: ids that pass on the original, but not under the bug; `pass_to_pass`: ids that pass on both;
    `flaky`: ids whose outcome varied, in neither set. `public_share`: the share of F2P that a solver should be shown;
    `hidden`: the F2P ids that are kept back (for a second-order bug: those of its root). A second-order bug is its
    `parent` (which goes back to `root`) plus a failed `attempt` at it. `environment` contains the data for rebuilding
    the environment (setup and test commands, interpreter version); `versions` names the tools that made the bug. An
    `imported` task was not made by an episode of ours: it has no `seed` and no `policy`, and may have no weakening.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    schema_version: Literal[1] = SCHEMA_VERSION
    id: BugId
    order: int = Field(default=1, ge=1, le=2)
    parent: BugId | None = None
    root: BugId | None = None
    attempt: FailedAttempt | None = None
    strategy: str = Field(pattern="^[a-z][a-z0-9_-]{0,39}$")
    seed: int | None = None
    source: str
    revision: str
    commit: str
    tree_hash: ObjectId
    content_hash: str
    fail_to_pass: tuple[str, ...] = Field(min_length=1)
    pass_to_pass: tuple[str, ...]
    flaky: tuple[str, ...] = ()
    public_share: float = Field(default=1.0, gt=0, le=1)
    hidden: tuple[str, ...] = ()
    thresholds: dict[str, Any] = Field(default_factory=dict)
    verdicts: tuple[dict[str, Any], ...] = ()
    environment: dict[str, Any] = Field(default_factory=dict)
    policy: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    imported: Imported | None = None

    @field_validator("environment")
    @classmethod
    def _recorded(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            recorded_environment(value)
        except UntrustedDataError as error:
            raise ValueError(error.message.removeprefix("the recorded environment: ")) from error
        return value

    @field_validator("verdicts")
    @classmethod
    def _verdicts(cls, value: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        _VERDICTS.validate_python(value)
        return value

    def recorded_verdicts(self) -> tuple[Verdict, ...]:
        """What the checks said."""
        return _VERDICTS.validate_python(self.verdicts)

    @model_validator(mode="after")
    def _consistent(self) -> "Bug":
        lineage = (self.parent, self.root, self.attempt)
        if any((self.order == 2) != (known is not None) for known in lineage):
            raise ValueError("a bug of order 2 has a parent, a root and an attempt, one of order 1 has none")
        if (self.imported is None) != (self.seed is not None and self.policy is not None):
            raise ValueError("a bug has the seed and the policy of its episode; an imported one has neither")
        if self.order == 1 and not set(self.hidden) <= set(self.fail_to_pass):
            raise ValueError("hidden names a test that is not in fail_to_pass")
        counts = Counter((*self.fail_to_pass, *self.pass_to_pass, *self.flaky))
        for test, count in counts.items():
            if count > 1:
                raise ValueError(f"{test!r} is in more than one of fail_to_pass, pass_to_pass and flaky, or twice")
        return self


def is_weakened(bug: Bug) -> bool:
    """Whether tests were hidden from its solver; for an imported task they may not be."""
    return bug.imported is None or bug.imported.weakened


def is_bug_id(name: str) -> bool:
    """Whether a text is a valid name for a bug and its folder."""
    return re.fullmatch(ID, name) is not None


def save_bug(bug: Bug, folder: Path) -> None:
    """Write `bug.json` into `folder`, atomically."""
    write_atomically(folder / BUG_FILE, (bug.model_dump_json(indent=2) + "\n").encode())


def load_bug(folder: Path) -> Bug:
    """Read `folder/bug.json`. Raises `ArtifactError`, naming the wrong field or a version that is too new."""
    path = folder / BUG_FILE
    try:
        value = parse_json(read_below(folder, BUG_FILE, MOST_BUG_BYTES), str(path))
    except MissingError as error:
        raise ArtifactError(error.message, "Name the folder of one bug: it holds bug.json.") from error
    except UntrustedDataError as error:
        raise ArtifactError(error.message, error.hint) from error
    try:
        return Bug.model_validate(value)
    except ValidationError as error:
        if newer := _newer_version(value):
            raise ArtifactError(
                f"{path} has schema_version {newer}; this version of selfplay reads {SCHEMA_VERSION}",
                "It was written by a later version: upgrade selfplay to read it.",
            ) from error
        raise ArtifactError(f"{path}: {first_fault(error, value)}", DAMAGED) from error


def _newer_version(value: Any) -> int | None:
    """The version that a bug declares, if it is later than ours."""
    said = value.get("schema_version") if isinstance(value, dict) else None
    return said if isinstance(said, int) and not isinstance(said, bool) and said > SCHEMA_VERSION else None
