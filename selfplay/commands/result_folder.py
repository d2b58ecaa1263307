"""The result folder of a command: written atomically and not made twice.

Its JSON summary has the `settings` that fixed the result. Repeating the command on the folder does nothing; with other
settings it is refused.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selfplay.artifact.reading import MIB, UntrustedDataError, read_named
from selfplay.curriculum.trust import remember_run
from selfplay.errors import SelfplayError, in_words
from selfplay.formatting import shortened
from selfplay.loop.ledger import whole
from selfplay.owned_folders import refuse_place_of_another
from selfplay.untrusted_json import AnswerError, json_value

MOST_SUMMARY = 64 * MIB
"""The most bytes of a result's summary."""


def finished(
    summary: Path,
    settings: Mapping[str, Any],
    what: str,
    refusal: type[SelfplayError],
    unrecorded: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """The content of the file `summary` if it has these settings; None without such a file. `what`: a word for the
    result. `unrecorded`: parts of settings that an earlier version did not record. Raises `refusal` for a damaged file
    or other settings."""
    if not summary.exists():
        return None
    try:
        found: dict[str, Any] = json_value(read_named(summary, MOST_SUMMARY))
        theirs = dict(found["settings"])
    except UntrustedDataError as error:
        raise refusal(error.message, "Give another --out.") from error
    except AnswerError as error:
        raise refusal(f"{summary} is damaged: it {error}", "Give another --out.") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = in_words(error) if isinstance(error, OSError) else "it has no settings"
        raise refusal(f"{summary} is damaged: {why}", "Give another --out.") from error
    for name, value in json.loads(json.dumps(settings, default=str)).items():
        was = whole(theirs.get(name), (unrecorded or {}).get(name))
        if was != value:
            raise refusal(
                f"{summary.parent} holds the result of another {what}, with {name} {was}, not {value}",
                "Give another --out.",
            )
    return found


@contextmanager
def whole_folder(out: Path, refusal: type[SelfplayError], hint: str) -> Iterator[Path]:
    """A folder to write to, which is renamed to `out` if the block succeeds and removed otherwise. Raises `refusal` if
    it cannot be written; `hint`: what to do then."""
    out = out.absolute()
    made = out.with_name(f".{out.name}.new")
    try:
        with written(out, refusal, hint):
            refuse_place_of_another(out)
            out.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(made, ignore_errors=True)  # left by a kill
            made.mkdir()
            yield made
            remember_run(made)  # which is `out` then
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
