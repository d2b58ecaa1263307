"""Keeps each run of a measurement until the measurement is complete, so that a kill loses only the current run."""

import base64
import hashlib
import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import zstandard

from selfplay.sandbox import Completed

log = logging.getLogger(__name__)


@dataclass
class KeptRuns:
    """The runs in `folder`, in request order. A repeated measurement requests the same runs."""

    folder: Path
    asked: int = 0

    def run(self, script: str, start: Callable[[], Completed]) -> Completed:
        """The result of the next run: read if a kept one ran `script`, else started and kept."""
        place = self.folder / f"{self.asked}.json.zst"
        self.asked += 1
        name = hashlib.sha256(script.encode("utf-8", "surrogateescape")).hexdigest()
        done = _read(place, name)
        if done is None:
            done = start()
            _write(place, name, done)
        return done

    def clear(self) -> None:
        """Delete all kept runs."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _read(place: Path, script: str) -> Completed | None:
    try:
        value = json.loads(zstandard.decompress(place.read_bytes()))
        if value.pop("script") != script:
            return None
        return Completed(**{**value, **{name: base64.b64decode(value[name]) for name in ("stdout", "stderr")}})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, MemoryError, zstandard.ZstdError):
        return None


def _write(place: Path, script: str, done: Completed) -> None:
    """Keep a run. A failure to do so is only logged: a later kill then costs more."""
    from selfplay.artifact.files import write_atomically  # imports pydantic, which is slow

    texts = {name: base64.b64encode(getattr(done, name)).decode() for name in ("stdout", "stderr")}
    value = {**asdict(done), **texts, "script": script}
    try:
        place.parent.mkdir(exist_ok=True)
        write_atomically(place, zstandard.ZstdCompressor(write_checksum=True).compress(json.dumps(value).encode()))
    except OSError:
        log.warning("a run of the measurement cannot be kept in %s", place.parent, exc_info=True)
