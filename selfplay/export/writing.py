"""Writes a dataset: into a folder beside its place, which gets its name when it is whole. The bytes depend on the pool
alone."""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from selfplay.curriculum import CurriculumError
from selfplay.export.columns import ENTITY, Kind, Row
from selfplay.sandbox.owners import remove

MANIFEST = "MANIFEST.sha256"
LARGE = 500_000_000
"""Bytes of tables from which on they are Parquet, unless JSON lines were asked for."""


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder that becomes `out` when the context ends well; else nothing is left. Raises `CurriculumError` where
    `out` holds something already, cannot be written to, or the disk is full."""
    try:
        if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
            raise CurriculumError(f"{out} exists and is not an empty folder", "Give another --out, or remove it.")
        if out.resolve() == Path.cwd():
            raise CurriculumError(f"{out} is the folder you are in, and would be replaced", "Name one below it.")
        staging = out.with_name(f".{out.name}.{os.getpid()}")
        out.parent.mkdir(parents=True, exist_ok=True)
        remove(staging)
        staging.mkdir()
        try:
            yield staging
            if out.exists():
                out.rmdir()
            staging.rename(out)
        finally:
            remove(staging)
    except OSError as error:
        hint = "Free some space there." if error.errno in (errno.ENOSPC, errno.EDQUOT) else "Give another --out."
        raise CurriculumError(f"{out} cannot be written: {error.strerror}; nothing was left there", hint) from error


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Path in the folder -> content."""
    for parent in {(folder / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def write_lines(path: Path, rows: Iterable[Row]) -> int:
    """One JSON object a line, in ASCII: no reader takes a character for the end of a line. Returns their number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    with path.open("w", encoding="ascii") as stream:
        for row in rows:
            stream.write(json.dumps(row) + "\n")
            number += 1
    return number


def write_parquet(path: Path, rows: Iterable[Row], columns: Mapping[str, Kind]) -> int:
    """The same as Parquet. Raises `CurriculumError` without the extra that it needs."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CurriculumError(
            "Parquet needs pyarrow, which is not installed",
            "pip install 'selfplay-swe[parquet]'. --jsonl writes JSON lines, also where they are large.",
        ) from error
    kinds = {"string": pyarrow.string(), "int64": pyarrow.int64(), "float64": pyarrow.float64()}
    kinds["list"] = pyarrow.list_(pyarrow.string())
    kinds["entities"] = pyarrow.list_(pyarrow.struct([(name, kinds[kind]) for name, kind in ENTITY.items()]))
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    number = 0
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for some in _batches(rows):
            writer.write_table(pyarrow.Table.from_pylist(some, schema=schema))
            number += len(some)
    return number


def _batches(rows: Iterable[Row], size: int = 500) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def write_manifest(folder: Path) -> None:
    """The sum of every file, as `sha256sum --check` reads it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{_sum(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    (folder / MANIFEST).write_text("".join(lines))


def _sum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
