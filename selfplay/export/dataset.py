"""Writes a dataset of one format: its tables, predictions, card, and whatever else the format's tool needs."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from selfplay.export import harbor, hf, r2e, swebench, swesmith
from selfplay.export.card import card
from selfplay.export.columns import Kind, Row
from selfplay.export.evaluation import eval_script
from selfplay.export.formats import Form, Statement
from selfplay.export.pools import Collected, PoolBug
from selfplay.export.sidecar_files import Files, written
from selfplay.export.statements import plain_statement, ssr_statement
from selfplay.export.writing import LARGE, write_files, write_lines, write_parquet

SAMPLED = 100
"""How many rows are sampled to estimate the size of all."""


@dataclass(frozen=True)
class Format:
    """`row` makes a row of a bug and its three statements (the given one, SSR's, the plain one); `files` makes the
    extra files of one bug, `shared` those of all; `name` is the row's name. `notes`: lines of the card. `script`: what
    the tool's evaluation runs in `/testbed`; a grader reads its output."""

    columns: Mapping[str, Kind]
    row: Callable[[PoolBug, str, str, str], Row]
    notes: Sequence[str]
    files: Files | None = None
    shared: Callable[[], Mapping[str, bytes]] = dict
    name: Callable[[PoolBug], str] = lambda one: one.id
    script: Callable[[PoolBug], str] | None = None


FORMATS: Mapping[Form, Format] = {
    "swebench": Format(
        swebench.COLUMNS, swebench.row, swebench.NOTES, shared=swebench.shared_files, script=eval_script
    ),
    "hf": Format(hf.COLUMNS, hf.row, hf.NOTES),
    "swesmith": Format(
        swesmith.COLUMNS,
        swesmith.row,
        swesmith.NOTES,
        shared=swesmith.shared_files,
        name=swesmith.smith_id,
        script=swesmith.evaluation,
    ),
    "r2e": Format(r2e.COLUMNS, r2e.row, r2e.NOTES, r2e.files, r2e.shared_files, script=r2e.evaluation),
    "harbor": Format(harbor.COLUMNS, harbor.row, harbor.NOTES, harbor.files),
}


def write(
    form: Form,
    folder: Path,
    splits: Mapping[str, Sequence[PoolBug]],
    found: Collected,
    statement: Statement,
    parquet: bool | None,
) -> dict[str, str]:
    """Write everything except the environments. `parquet`: None decides by the size of
    the JSON lines. Returns the checksums of the bugs' files."""
    sums: dict[str, str] = {}
    made = FORMATS[form]
    if parquet is None:
        parquet = _size(made, found.bugs, statement) > LARGE
    names = {split: f"{split}.{'parquet' if parquet else 'jsonl'}" for split in splits}
    every = [one for bugs in splits.values() for one in bugs]
    with written(made.files, every, statement, folder) if made.files else nullcontext(sums) as sums:
        for split, bugs in splits.items():
            rows = _rows(made, bugs, statement)
            if parquet:
                write_parquet(folder / names[split], rows, made.columns)
            else:
                write_lines(folder / names[split], rows)
    for name, answer in (("gold", _gold), ("empty", _empty)):
        write_lines(folder / "predictions" / f"{name}.jsonl", _predictions(made, every, name, answer))
    sizes = {split: len(bugs) for split, bugs in splits.items()}
    notes = [note.replace("train.jsonl", names["train"]) for note in made.notes]
    text = card(form, names, made.columns, found, sizes, notes)
    return sums | write_files(folder, {"README.md": text.encode(), **made.shared()})


def _rows(made: Format, bugs: Iterable[PoolBug], statement: Statement) -> Iterator[Row]:
    for one in bugs:
        ssr, plain = ssr_statement(one), plain_statement(one)
        yield made.row(one, ssr if statement == "ssr" else plain, ssr, plain)


def _size(made: Format, bugs: Sequence[PoolBug], statement: Statement) -> float:
    """Bytes of the rows as JSON lines, estimated from some of them."""
    some = bugs[:: max(1, len(bugs) // SAMPLED)]
    return sum(len(json.dumps(row)) for row in _rows(made, some, statement)) / len(some) * len(bugs)


def _gold(one: PoolBug) -> str:
    return one.patch


def _empty(one: PoolBug) -> str:
    return ""


def _predictions(made: Format, bugs: Iterable[PoolBug], name: str, answer: Callable[[PoolBug], str]) -> Iterator[Row]:
    for one in bugs:
        yield {"instance_id": made.name(one), "model_name_or_path": name, "model_patch": answer(one)}
