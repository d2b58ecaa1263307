"""Reads the source mounted in this sandbox, and reports what it is. Runs inside only."""

import sys
from pathlib import Path

from selfplay.repository.detection.detect import detect
from selfplay.repository.disk import OF_WRITING
from selfplay.repository.errors import RepositoryError
from selfplay.repository.fetching.checkouts import remove, take
from selfplay.repository.fetching.gitdir import GitDir, GitError, failure
from selfplay.repository.fetching.history import Wanted, tidy
from selfplay.repository.fetching.layers import past_of, write_tree
from selfplay.repository.fetching.reading import (
    ANSWER,
    LAYER,
    NO_PROCESS,
    TREE,
    WORK,
    ReaderAnswer,
    ReadOrder,
    SourceFound,
    decoded,
    encoded,
)  # fmt: skip
from selfplay.repository.fetching.unreadable_files import first_closed


def read(order: ReadOrder) -> ReaderAnswer:
    """Read the order's source, and check out its tree."""
    remove(Path(WORK))
    if order.closed and (path := first_closed(order)):
        return ReaderAnswer(closed=path)
    if order.kind == "layer":
        Path(WORK).mkdir(parents=True)
        write_tree(GitDir(Path(LAYER, ".git")), order.commit, Path(TREE))
        return ReaderAnswer()
    checkout = take(order)
    tidied = tidy(checkout, order)
    write_tree(checkout.store, tidied.tree_hash, Path(TREE))
    notes, plan = (*checkout.notes, *tidied.notes), detect(Path(TREE))
    store, names = (tidied.commit, tidied.tree_hash, tidied.tracked), (checkout.revision, checkout.version)
    past = past_of(checkout.store, tidied.commit)
    return ReaderAnswer(SourceFound(*store, *names, notes, plan, checkout.dated, past))


def answer(order: ReadOrder) -> ReaderAnswer:
    """Return what `read` returns, or why it failed."""
    try:
        return read(order)
    except Wanted as wanted:
        return ReaderAnswer(wanted=wanted.submodules)
    except RepositoryError as error:
        named = error.message if order.shown in error.message else f"{order.shown}: {error.message}"
        return ReaderAnswer(problem=(named, error.hint))
    except GitError as error:
        return ReaderAnswer(problem=(f"{order.shown}: git cannot read it: {failure(error)[:500]}", ""))
    except OSError as error:
        if error.errno not in OF_WRITING:
            raise
        return ReaderAnswer(problem=(f"{order.shown} does not fit on the disk on which sources are unpacked", ""))


def main() -> None:
    """Read the order from standard input, write the answer's file. Ends with `NO_PROCESS` if none could be started."""
    try:
        given = answer(decoded(ReadOrder, sys.stdin.buffer.read()))
    except BlockingIOError:
        sys.exit(NO_PROCESS)
    if given.problem:
        remove(Path(WORK))  # it may have filled the disk
    Path(ANSWER).write_bytes(encoded(given))
