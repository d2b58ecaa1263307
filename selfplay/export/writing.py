"""Writes a dataset into a temporary folder, which is renamed when it is complete. The bytes depend on the pool
alone."""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from selfplay.checksums import sha256_of
from selfplay.curriculum import CurriculumError
from selfplay.export.columns import ENTITY, Kind, Row
from selfplay.owned_folders import OF_ONES_OWN, FolderOfAnother, refuse_place_of_another, rights_of
from selfplay.sandbox.owners import remove

MANIFEST = "MANIFEST.sha256"
LARGE = 500_000_000
"""Bytes of tables from which on they are Parquet, unless JSON lines were asked for."""


@contextmanager
def new_folder(out: Path, *made_of: Path) -> Iterator[Path]:
    """A folder that becomes `out` if the context succeeds; else nothing is left. `made_of`: runs that it is made of: it
    is closed to whom they are closed. Raises `CurriculumError` if `out` is not empty, another user's, cannot be
    written, or the disk is full."""
    try:
        if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
            raise CurriculumError(f"{out} exists and is not an empty folder", "Give another --out, or remove it.")
        if out.resolve() == Path.cwd():
            raise CurriculumError(f"{out} is the folder you are in, and would be replaced", "Name one below it.")
        staging = out.with_name(f".{out.name}.{os.getpid()}")
        refuse_place_of_another(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        remove(staging)
        staging.mkdir()
        staging.chmod(staging.stat().st_mode & rights_of(*made_of))
        held = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield Path(f"/proc/{os.getpid()}/fd/{held}")  # whatever somebody puts in its place meanwhile
            _refuse_another(held, staging)
            if out.exists():
                out.rmdir()
            staging.rename(out)
            _refuse_another(held, out)
        finally:
            os.close(held)
            remove(staging)
    except FolderOfAnother as error:
        raise CurriculumError(error.message, error.hint) from error
    except OSError as error:
        hint = "Free some space there." if error.errno in (errno.ENOSPC, errno.EDQUOT) else "Give another --out."
        raise CurriculumError(f"{out} cannot be written: {error.strerror}; nothing was left there", hint) from error


def _refuse_another(held: int, place: Path) -> None:
    if not os.path.samestat(os.fstat(held), place.lstat()):
        raise CurriculumError(f"{place} was replaced meanwhile", OF_ONES_OWN)


def write_files(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Write path in the folder -> content, overwriting files. Returns their checksums, so that they need not be read
    again."""
    place = os.fspath(folder)
    parents = {parent for name in files for parent in _parents(name)}
    os.makedirs(place, exist_ok=True)  # noqa: PTH103 - ten thousand bugs have eighty thousand files: paths as texts
    for parent in sorted(parents):
        with suppress(FileExistsError):
            os.mkdir(f"{place}/{parent}")  # noqa: PTH102
    for name, data in files.items():
        number = os.open(f"{place}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(number, rest) :]
        finally:
            os.close(number)
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _parents(name: str) -> Iterator[str]:
    """The folders that a file lies in."""
    at = name.find("/")
    while at >= 0:
        yield name[:at]
        at = name.find("/", at + 1)


def write_lines(path: Path, rows: Iterable[Row]) -> int:
    """Write one JSON object per line, in ASCII, so that no reader splits a line at another character. Returns their
    number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    with path.open("w", encoding="ascii") as stream:
        for row in rows:
            stream.write(json.dumps(row) + "\n")
            number += 1
    return number


def write_parquet(path: Path, rows: Iterable[Row], columns: Mapping[str, Kind]) -> int:
    """Write the same rows as Parquet. Raises `CurriculumError` without pyarrow."""
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


def write_manifest(folder: Path, known: Mapping[str, str]) -> None:
    """Write the checksum of every file, for `sha256sum --check`. `known`: checksums of files that were just written."""
    place = os.fspath(folder)
    found = [f"{above}/{name}"[len(place) + 1 :] for above, _, names in os.walk(place) for name in names]
    found.sort(key=lambda name: name.split("/"))
    lines = [f"{known.get(name) or sha256_of(folder / name)}  {name}\n" for name in found]
    (folder / MANIFEST).write_text("".join(lines))
