"""The folder that a command makes: whole or not at all, and not made twice.

A summary in it, JSON, tells the `settings` that fixed the result. The same command on the same folder then has nothing
to do; with other settings it is refused.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selfplay.errors import SelfplayError, in_words
from selfplay.formatting import shortened


def finished(
    summary: Path, settings: Mapping[str, Any], what: str, refusal: type[SelfplayError]
) -> dict[str, Any] | None:
    """What the file `summary` says, if it has these settings; None where there is no such file. `what`: a word for what
    was made. Raises `refusal` for a damaged one, and for one with other settings."""
    if not summary.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(summary.read_text())
        theirs = dict(found["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise refusal(f"{summary} is damaged: {error}", "Give another --out.") from error
    for name, value in json.loads(json.dumps(settings, default=str)).items():
        if theirs.get(name) != value:
            raise refusal(
                f"{summary.parent} holds the result of another {what}, with {name} {theirs.get(name)}, not {value}",
                "Give another --out.",
            )
    return found


@contextmanager
def whole_folder(out: Path, refusal: type[SelfplayError], hint: str) -> Iterator[Path]:
    """A folder to write to, which gets the name `out` when the block is left without an error, and is removed with one.
    Raises `refusal` when it cannot be written; `hint`: what to do then."""
    made = out.with_name(f".{out.name}.new")
    try:
        with written(out, refusal, hint):
            out.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(made, ignore_errors=True)  # of a kill
            made.mkdir()
            yield made
            made.replace(out)
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def written(out: Path, refusal: type[SelfplayError], hint: str) -> Iterator[None]:
    """Turn an `OSError` of the block, which writes `out`, into `refusal` with `hint`."""
    try:
        yield
    except OSError as error:
        there = next(place for place in (out, *out.absolute().parents) if place.exists())
        free = shutil.disk_usage(there).free / 1e9
        raise refusal(
            f"{shortened(out)} cannot be written: {in_words(error)}",
            f"Is the disk full? {free:.1f} GB are free. {hint}",
        ) from error
