"""Reads the original's files on the host, without following links."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from selfplay import patches
from selfplay.artifact.reading import UntrustedDataError, refuse_second_name
from selfplay.oracle.errors import OracleError
from selfplay.plain_text import decode, folders_above, regular_file, safe_relative
from selfplay.sandbox import World
from selfplay.workbench.files import TestFile
from selfplay.workbench.reading import WHOLE, ReadBudget

MOST_FILES, MOST_SOURCES = 500, 5000
"""The most files of a folder, and Python sources of the tree, that are looked at."""


def read_originals(world: World, paths: Sequence[str]) -> dict[str, TestFile]:
    """The regular files among `paths`, from the topmost layer; links are not followed.

    Raises `OracleError` for a hard link, and when they are larger than the limit for a run's files, since all are held
    in the host's memory."""
    found, budget = {}, ReadBudget()
    for path in paths:
        file = next((file for layer in reversed(world.tree) if (file := regular_file(layer, path))), None)
        if file is not None:
            status = file.stat()
            try:
                refuse_second_name(status, file)
            except UntrustedDataError as error:
                raise OracleError(error.message, error.hint) from error
            with file.open("rb") as stream:
                data = stream.read(budget.size + 1)
            if not budget.take(len(data)):
                raise OracleError(f"the test files of the original hold more than {WHOLE}", "Name fewer test files.")
            found[path] = TestFile(data, bool(status.st_mode & 0o100), int(status.st_mtime))
    return found


def original_texts(world: World, paths: Sequence[str]) -> dict[str, str]:
    """Path -> text of those files."""
    return {path: decode(file.content) for path, file in read_originals(world, paths).items()}


class OriginalFiles(Protocol):
    """A tree of files, as far as judging a prediction needs it."""

    def text(self, path: str) -> str | None:
        """The text of a regular file of the original; None if there is none."""
        ...

    def changed(self, path: str) -> bool:
        """Whether the file differs from the original's."""
        ...

    def there(self, path: str) -> bool:
        """Whether a file, a link or a folder exists."""
        ...

    def below(self, folder: str) -> Collection[str]:
        """The paths of the files in a folder and in its folders; not all of a very large one."""
        ...

    def sources(self) -> Collection[str] | None:
        """The paths of the Python sources of the tree; None if there are too many to be looked at."""
        ...


class Original:
    """The original on the host, plus what a bug's diffs add and remove."""

    def __init__(self, world: World, diffs: Sequence[str] = ()) -> None:
        self._world = world
        self._changed: dict[str, bool] = {}
        self._folders: set[str] = set()
        for diff in diffs:
            for section in patches.parse(diff):
                if section.old_path and section.kind in ("deleted", "renamed"):
                    self._changed[section.old_path] = False
                if section.new_path:
                    self._changed[section.new_path] = True
        for path in (path for path, kept in self._changed.items() if kept):
            self._folders.update(folders_above(path))

    def text(self, path: str) -> str | None:
        return original_texts(self._world, [path]).get(path)

    def changed(self, path: str) -> bool:
        return path in self._changed

    def there(self, path: str) -> bool:
        if safe_relative(path) is None:
            return False
        if path in self._changed:
            return self._changed[path]
        if path in self._folders:
            return True
        return any(_exists(layer / path) for layer in self._world.tree)

    def below(self, folder: str) -> Collection[str]:
        return {path for layer in self._world.tree for path in islice(_files(layer, layer / folder), MOST_FILES)}

    def sources(self) -> Collection[str] | None:
        every = (path for layer in self._world.tree for path in _files(layer, layer) if path.endswith(".py"))
        found = {*islice(every, MOST_SOURCES + 1)}
        return found if len(found) <= MOST_SOURCES else None


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except (OSError, ValueError):  # a name that file systems refuse
        return False
    return True


def _files(layer: Path, folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")) if folder.is_dir() and not folder.is_symlink() else ():
        if path.is_file():
            yield path.relative_to(layer).as_posix()
