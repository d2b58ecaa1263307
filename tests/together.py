"""What costs much to make and is only read afterwards is made once for all workers of one run of the tests."""

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def shared_folder(run: str) -> Iterator[Path]:
    """The folder of that run of the tests. Whoever leaves it last removes it."""
    folder = Path(tempfile.gettempdir(), f"shared-by-tests-{run}")
    with folder.with_suffix(".lock").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)  # under root, sandboxes run as another user
        try:
            yield folder
        finally:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                folder.with_suffix(".lock").unlink(missing_ok=True)


@pytest.fixture(scope="session")
def together(testrun_uid: str) -> Iterator[Path]:
    """A folder that all workers of this run of the tests share."""
    with shared_folder(testrun_uid) as folder:
        yield folder


def made_once(place: Path, make: Callable[[Path], object]) -> Path:
    """`place`, which the first that asks for it makes while the others wait. What fails is made again by the next."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = place.with_suffix(".made")
        if not mark.exists():
            shutil.rmtree(place, ignore_errors=True)
            make(place)
            mark.touch()
    return place
