"""The runs of a measurement, kept one by one until it is whole: a kill loses the run under way and no other."""

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
    """The runs in `folder`, in the order they are asked for. A measurement that is repeated asks for the same ones."""

    folder: Path
    asked: int = 0

    def run(self, script: str, start: Callable[[], Completed]) -> Completed:
        """What the next run did: read where it is kept and was one of `script`, else started and kept."""
        place = self.folder / f"{self.asked}.json.zst"
        self.asked += 1
        name = hashlib.sha256(script.encode("utf-8", "surrogateescape")).hexdigest()
        done = _read(place, name)
        if done is None:
            done = start()
            _write(place, name, done)
        return done

    def clear(self) -> None:
        """Forget them all."""
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
    """Keep a run. Where that cannot be, a kill costs more, and nothing else."""
    from selfplay.artifact.files import write_atomically  # brings pydantic, slow to import

    texts = {name: base64.b64encode(getattr(done, name)).decode() for name in ("stdout", "stderr")}
    value = {**asdict(done), **texts, "script": script}
    try:
        place.parent.mkdir(exist_ok=True)
        write_atomically(place, zstandard.ZstdCompressor(write_checksum=True).compress(json.dumps(value).encode()))
    except OSError:
        log.warning("a run of the measurement cannot be kept in %s", place.parent, exc_info=True)
