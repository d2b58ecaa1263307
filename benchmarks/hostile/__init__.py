"""Run folders as somebody hostile would share them: a small real run, changed in one place by each case."""

from collections.abc import Iterator

from benchmarks.hostile.folders import folders
from benchmarks.hostile.place import Case, Place, arguments, prepare
from benchmarks.hostile.pools import pools
from benchmarks.hostile.records import files, records
from benchmarks.hostile.streams import episodes, predictions

__all__ = ["Case", "Place", "arguments", "cases", "prepare"]


def cases() -> Iterator[Case]:
    """All cases; nothing large is made before a case is played."""
    for some in (records, files, pools, folders, episodes, predictions):
        yield from some()
