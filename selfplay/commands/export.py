"""What `selfplay export` does, on values: turn runs into a dataset for other tools."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfplay.artifact import Bug
from selfplay.artifact.environment import recorded_environment
from selfplay.curriculum import CurriculumError
from selfplay.curriculum.reading_bounds import bounded_reading, bounded_time, confined_reading
from selfplay.curriculum.stored_bugs import wishes
from selfplay.curriculum.trust import Wish, require
from selfplay.export import dataset
from selfplay.export.bug_selection import BugSelection, training_repositories
from selfplay.export.environments import write_environments
from selfplay.export.formats import FORMS, Form, Statement
from selfplay.export.names import project_name
from selfplay.export.pools import Collected, PoolBug, collect
from selfplay.export.writing import new_folder, write_manifest


@dataclass(frozen=True)
class ExportOrder:
    """What the user asked for. `train`: the share of the repositories that are for training, None for no split.
    `statement`: which of the two the agent gets. `parquet`: tables as Parquet or as JSON lines; None: as Parquet if
    JSON lines would be large. `trust`: setup commands and images of others' runs go into the dataset unasked."""

    runs: Sequence[Path]
    out: Path
    form: Form = "swebench"
    choice: BugSelection = field(default_factory=BugSelection)
    train: float | None = None
    statement: Statement = "ssr"
    parquet: bool | None = None
    trust: bool = False


@dataclass(frozen=True)
class Exported:
    """The result: rows of each split, the bugs that are left out, and the bytes of the tables."""

    splits: Mapping[str, int]
    damaged: Mapping[str, str]
    left_out: Mapping[str, int]
    table_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        told = {"splits": dict(self.splits), "damaged": dict(self.damaged), "left_out": dict(self.left_out)}
        return {**told, "table_bytes": self.table_bytes}


def run_export(order: ExportOrder) -> Exported:
    """Write the dataset into `order.out`, which is new or empty. Raises `CurriculumError` and then leaves nothing:
    `NotTrusted` for what building the dataset's images would run or fetch for a run that is not the user's own."""
    if order.form not in FORMS:
        raise CurriculumError(f"there is no format {order.form!r}", f"The formats are {', '.join(FORMS)}.")
    found = bounded_reading(order.runs, lambda: collect(order.runs, order.choice))
    for one in found.bugs:
        require(_wanted(one.bug), order.trust)
    with bounded_time(order.runs), new_folder(order.out, *order.runs) as folder:
        found.leave_out(confined_reading(order.runs, lambda: write_environments(folder, found.bugs), folder))
        splits = dict(_splits(found, order.train))
        sums = dataset.write(order.form, folder, splits, found, order.statement, order.parquet)
        write_manifest(folder, sums)
        size = sum(path.stat().st_size for name in splits for path in folder.glob(f"{name}.*"))
    return Exported({name: len(bugs) for name, bugs in splits.items()}, found.damaged, found.left_out, size)


def _wanted(bug: Bug) -> list[Wish]:
    """What whoever builds the images of the dataset runs or fetches because the bug's record says so."""
    image = recorded_environment(bug.environment).image
    return [*wishes(bug, fetched=False), *([Wish("image", image, bug.tree_hash)] if image else [])]


def _splits(found: Collected, train: float | None) -> Iterator[tuple[str, list[PoolBug]]]:
    """Split -> its bugs. All versions of a repository, from any source, are in one split."""
    if train is None:
        yield "train", found.bugs
        return
    named = [(project_name(one.bug), one) for one in found.bugs]
    chosen = training_repositories((name for name, _ in named), train)
    yield "train", [one for name, one in named if name in chosen]
    yield "test", [one for name, one in named if name not in chosen]
