"""Reads the rows of a dataset: a file, or a folder as `datasets` opens it. Sizes are checked before anything is
kept."""

import codecs
import hashlib
import itertools
import json
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from selfplay.artifact.decoding import parse_json, text_memory
from selfplay.artifact.reading import MIB, UntrustedDataError, listed_below, of_hub, opened_named, refuse_second_name
from selfplay.curriculum.reading_bounds import limited_memory
from selfplay.errors import SelfplayError
from selfplay.untrusted_json import MOST_VALUES

MOST_ROWS, MOST_LINES = 100_000, 1_000_000
MOST_LINE, MOST_LIST = 16 * MIB, 64 * MIB
MOST_FILE = 8192 * MIB
MOST_READ = 600 * MIB
MOST_GROUP = 256 * MIB
MOST_FOOTER, FOOTER = MIB, struct.Struct("<I4x")
"""Bytes of the footer of a Parquet file, and what stands at its end: their number and four letters."""
ENDINGS = (".jsonl", ".json", ".parquet")


class ImportRefused(SelfplayError):
    """Rows, or one row, that cannot be imported."""


@dataclass(frozen=True)
class DatasetRow:
    """`name`: its place, for messages; `sha256`: of its values; `beside`: the folder of its dataset. `fault`: why the
    line is not a row."""

    name: str
    values: dict[str, Any]
    sha256: str
    beside: Path
    fault: str = ""


def read_rows(path: Path) -> Iterator[DatasetRow]:
    """The rows at `path`, one by one. Raises `ImportRefused` if there is none."""
    number = 0
    for file in _files(path):
        for place, value, fault in _values(file):
            number += 1
            if number > MOST_ROWS:
                raise ImportRefused(f"{path} has more than {MOST_ROWS} rows", "Import a part of it.")
            yield _row(f"{file.name}:{place}", value, fault, file.parent)
    if not number:
        raise ImportRefused(f"{path} has no rows", f"Name a file that ends in {', '.join(ENDINGS)}, or its folder.")


def _row(name: str, value: Any, fault: str, beside: Path) -> DatasetRow:
    if not isinstance(value, dict):
        return DatasetRow(name, {}, "", beside, fault or "it is not an object")
    text = json.dumps(value, sort_keys=True, default=str)
    return DatasetRow(name, value, hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest(), beside, fault)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        names = listed_below(path)
        found = [path / name for ending in ENDINGS for name in names if name.endswith(ending)]
        found = found or [path / "data" / name for name in listed_below(path, "data") if name.endswith(".parquet")]
        return [file for file in found if _is_own(file, path)]
    if not path.exists():
        raise ImportRefused(f"{path} does not exist", "Name a file or a folder of this machine: nothing is downloaded.")
    if path.suffix not in ENDINGS:
        raise ImportRefused(f"{path} ends in none of {', '.join(ENDINGS)}", "Save its rows as JSON lines.")
    return [path]


def _is_own(file: Path, folder: Path) -> bool:
    """Whether it is a file of this folder: a link of either kind may lead to another, but in the hub's cache to its own
    blobs. Raises `ImportRefused`, `UntrustedDataError` for a link elsewhere."""
    real = folder.resolve()
    hub = of_hub(real, "datasets")
    if not file.resolve().is_relative_to(hub / "blobs" if hub and file.is_symlink() else real):
        raise ImportRefused(f"{file} is a link that leads out of the folder", "Put a copy in its place.")
    if not hub and file.is_file():
        refuse_second_name(file.stat(), file)
    return file.is_file()


def _values(file: Path) -> Iterator[tuple[int, Any, str]]:
    """(number in the file, value, why it cannot be read) of each row."""
    try:
        if file.suffix == ".parquet":
            yield from _parquet(file)
        elif file.suffix == ".json":
            with opened_named(file, MOST_LIST) as stream:
                data = stream.read(MOST_LIST + 1)
                if text_memory(data) > MOST_LIST:
                    raise ImportRefused(f"{file} takes more than {MOST_LIST // MIB} MiB", "Save it as JSON lines.")
                value = parse_json(data, str(file))
            listed = value if isinstance(value, list) else [value]
            yield from ((number, one, "") for number, one in enumerate(listed, 1))
        else:
            yield from _lines(file)
    except UntrustedDataError as error:
        raise ImportRefused(error.message, error.hint) from error


def _lines(file: Path) -> Iterator[tuple[int, Any, str]]:
    with opened_named(file, MOST_FILE) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(MOST_LINE + 1), b""), 1):
            if number > MOST_LINES:
                raise ImportRefused(f"{file} has more than {MOST_LINES} lines", "Import a part of it.")
            if len(line) > MOST_LINE:
                raise ImportRefused(f"{file}: line {number} has more than {MOST_LINE // MIB} MiB")
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not line.strip():
                continue
            try:
                yield number, parse_json(line, "it"), ""
            except UntrustedDataError as error:
                yield number, None, error.message


def _slots(column: Any) -> int:
    """How many values a column becomes: of nulls, a few bytes stand for any number."""
    kind = str(column.type)
    if kind.startswith("map"):
        return len(column) + _slots(column.keys) + _slots(column.items)
    if kind.startswith(("list", "large_list", "fixed_size_list")):
        return len(column) + _slots(column.flatten())
    if kind.startswith("struct"):
        return len(column) + sum(map(_slots, column.flatten()))
    return len(column)


def _table(file: Path, stream: IO[bytes]) -> Any:
    """The table of an open file. Its footer, which is read as a whole, takes 260 times its bytes of memory."""
    import pyarrow.parquet

    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - FOOTER.size))
    end = stream.read(FOOTER.size)
    stream.seek(0)
    if len(end) == FOOTER.size and FOOTER.unpack(end)[0] > MOST_FOOTER:
        raise ImportRefused(f"{file} has a footer of more than {MOST_FOOTER // MIB} MiB", "Write larger row groups.")
    with limited_memory(MOST_READ):
        return pyarrow.parquet.ParquetFile(stream)


def _parquet(file: Path) -> Iterator[tuple[int, Any, str]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportRefused(f"{file} needs pyarrow to be read", "pip install 'selfplay-swe[parquet]'") from error
    try:
        with opened_named(file, sys.maxsize) as stream, _table(file, stream) as table:
            groups = (table.metadata.row_group(number) for number in range(table.metadata.num_row_groups))
            if any(group.total_byte_size > MOST_GROUP for group in groups):
                raise ImportRefused(f"{file} has larger row groups than {MOST_GROUP // MIB} MiB", "Write smaller ones.")
            batches = table.iter_batches(batch_size=1)
            for number in itertools.count(1):
                with limited_memory(MOST_READ):  # a few bytes of a page may stand for any number of values
                    batch = next(batches, None)
                    if batch is None:
                        return
                    size, values = batch.nbytes, sum(map(_slots, batch.columns))
                    small = size <= MOST_LINE and values <= MOST_VALUES
                    fault = "" if small else f"it takes {size} bytes for {values} values, more than a row may"
                    try:
                        row = batch.to_pylist()[0] if small else None
                    except (ValueError, OverflowError) as error:  # no text, no day of a calendar
                        row, fault = None, f"it cannot be read: {str(error)[:200]}"
                yield number, row, fault
    except MemoryError as error:
        raise ImportRefused(f"{file}: a row takes more than {MOST_READ // MIB} MiB to read") from error
    except (pyarrow.ArrowException, OSError) as error:
        raise ImportRefused(f"{file} is not a Parquet file: {str(error)[:200]}") from error
