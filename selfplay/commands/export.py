"""From runs to a dataset that other tools read: what `selfplay export` does, on values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from selfplay.curriculum import CurriculumError
from selfplay.export import dataset
from selfplay.export.choice import Choice, training_repositories
from selfplay.export.environments import environment_files
from selfplay.export.pools import Collected, PoolBug, collect
from selfplay.export.writing import new_folder, write_files, write_manifest

Form = Literal["swebench", "swesmith", "r2e", "harbor", "hf"]
FORMS: tuple[str, ...] = get_args(Form)
Statement = Literal["ssr", "plain"]


@dataclass(frozen=True)
class ExportOrder:
    """What the user asked for. `train`: the share of the repositories that are for training, None for no split.
    `statement`: which of the two the agent is given. `parquet`: tables as Parquet instead of JSON lines."""

    runs: Sequence[Path]
    out: Path
    form: Form = "swebench"
    choice: Choice = field(default_factory=Choice)
    train: float | None = None
    statement: Statement = "ssr"
    parquet: bool = False


@dataclass(frozen=True)
class Exported:
    """What came of it: rows of each split, and the bugs that are left out."""

    splits: Mapping[str, int]
    damaged: Mapping[str, str]
    left_out: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        return {"splits": dict(self.splits), "damaged": dict(self.damaged), "left_out": dict(self.left_out)}


def run_export(order: ExportOrder) -> Exported:
    """Write the dataset into `order.out`, which is new or empty. Raises `CurriculumError`; nothing is left then."""
    if order.form not in FORMS:
        raise CurriculumError(f"there is no format {order.form!r}", f"The formats are {', '.join(FORMS)}.")
    found = collect(order.runs, order.choice)
    splits = dict(_splits(found, order.train))
    with new_folder(order.out) as folder:
        dataset.write(order.form, folder, splits, found, order.statement, order.parquet)
        write_files(folder, environment_files(found.bugs))
        write_manifest(folder)
    return Exported({name: len(bugs) for name, bugs in splits.items()}, found.damaged, found.left_out)


def _splits(found: Collected, train: float | None) -> Iterator[tuple[str, list[PoolBug]]]:
    """Split -> its bugs: a repository is wholly in one."""
    if train is None:
        yield "train", found.bugs
        return
    chosen = training_repositories((one.bug.source for one in found.bugs), train)
    yield "train", [one for one in found.bugs if one.bug.source in chosen]
    yield "test", [one for one in found.bugs if one.bug.source not in chosen]
