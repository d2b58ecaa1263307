"""Where a source is prepared: the sandboxes, the cache, and a folder in it for the work."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from selfplay.formatting import Say
from selfplay.repository.cache import check_cache, default_cache
from selfplay.repository.disk import named
from selfplay.sandbox import Backend
from selfplay.sandbox.owners import scratch, sweep


@dataclass(frozen=True)
class Workshop:
    """`work`: a folder for what is needed only while the source is prepared. `progress` is told of long operations."""

    backend: Backend
    cache: Path
    work: Path
    progress: Say

    @property
    def downloads(self) -> Path:
        """The kept downloads."""
        return self.cache / "downloads"


@contextmanager
def open_workshop(backend: Backend, cache: Path | None, progress: Say) -> Iterator[Workshop]:
    """A workshop in the checked cache folder, the default one if None; its `work` is removed afterwards."""
    folder = cache or default_cache()
    check_cache(folder)
    with named(folder):
        (folder / "work").mkdir(exist_ok=True)
        sweep(folder / "work")
        with scratch(folder / "work") as work:
            work.chmod(0o711)  # folders in it are mounted into sandboxes
            yield Workshop(backend, folder, work, progress)
