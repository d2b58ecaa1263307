"""Writes the files beside the tables, some for each bug, with several processes for many bugs."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from selfplay.export.pools import PoolBug
from selfplay.export.statements import plain_statement, ssr_statement
from selfplay.export.writing import write_files

MANY, CHUNK = 400, 250
"""The number of bugs from which processes pay off, and how many bugs one of them writes at a time."""
Files = Callable[[PoolBug, str], Mapping[str, bytes]]
Sums = dict[str, str]
_inherited: tuple[Files, Sequence[PoolBug], str, Path] | None = None
"""The bugs for the forked processes: sending them would take as long as writing."""


@contextmanager
def written(files: Files, bugs: Sequence[PoolBug], statement: str, folder: Path) -> Iterator[Sums]:
    """Write the files of these bugs in the background. `statement`: `ssr` or `plain`. Gives the files' checksums, which
    are complete at the end of the context. Raises the errors of writing."""
    sums: Sums = {}
    if len(bugs) < MANY:
        sums.update(_some(files, bugs, statement, folder))
        yield sums
        return
    global _inherited
    _inherited = files, bugs, statement, folder
    cores = len(os.sched_getaffinity(0))
    try:
        with ProcessPoolExecutor(cores, multiprocessing.get_context("fork")) as pool:
            parts = [pool.submit(_part, at) for at in range(0, len(bugs), CHUNK)]
            try:
                yield sums
                for part in parts:
                    sums.update(part.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        _inherited = None


def _part(at: int) -> Sums:
    assert _inherited is not None  # set before the processes are forked
    files, bugs, statement, folder = _inherited
    return _some(files, bugs[at : at + CHUNK], statement, folder)


def _some(files: Files, bugs: Sequence[PoolBug], statement: str, folder: Path) -> Sums:
    sums: Sums = {}
    for one in bugs:
        sums |= write_files(folder, files(one, ssr_statement(one) if statement == "ssr" else plain_statement(one)))
    return sums
