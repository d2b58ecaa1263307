"""Reports a checkout's uncommitted changes, which are not taken: one note for the user. Inside only."""

import os
import stat
from itertools import islice
from pathlib import Path, PurePosixPath

from selfplay.formatting import count
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.gitdir import GitDir, GitError
from selfplay.repository.fetching.local import MAX_OBJECTS, walk
from selfplay.repository.fetching.reading import SOURCE, ReadOrder
from selfplay.repository.fetching.running import ProgramBounds
from selfplay.repository.fetching.trees import measured

STATUS = ProgramBounds(seconds=60.0)
IGNORING = (".gitignore", ".gitattributes")
RUN = "curriculum.sqlite"
"""The file that makes a folder a run of ours (`DATABASE`): by default runs lie in `runs/` of where one works."""
MOST_RUNS = 1000


def uncommitted(store: GitDir, head: str, order: ReadOrder) -> tuple[str, ...]:
    """One note when tracked files differ from HEAD or untracked ones exist, under our git settings."""
    root, inside = Path(SOURCE), order.subfolder
    if order.git == SOURCE:  # a bare repository has no work tree
        return ()
    if pipe := _pipe(root):
        return (f"whether there are uncommitted changes is not known: {pipe} is not a regular file",)
    try:
        measured(store, store.tree_of(head))
    except (SourceError, GitError):
        if inside == ".":
            raise
        return ()  # only a part of it is used
    index = store.path / "status-index"
    try:
        store.run("read-tree", head, index=index, bounds=STATUS)
        _ignore_as_committed(store, index, inside)
        store.run("update-index", "-q", "--refresh", work_tree=root, index=index, strict=False, bounds=STATUS)
        changed = store.run("diff-files", "--name-only", "-z", "--ignore-submodules=all", "--", inside,
                            work_tree=root, index=index, bounds=STATUS)  # fmt: skip
        new = store.run("ls-files", "--others", "--exclude-standard", "--directory", "-z",
                        work_tree=root, index=index, bounds=STATUS)  # fmt: skip
    except GitError:
        return ()
    finally:
        index.unlink(missing_ok=True)
    paths = [os.fsdecode(path) for path in (changed + new).split(b"\0") if path]
    paths = [path for path in paths if inside == "." or path.startswith(f"{inside}/")]
    paths = [path for path in paths if not (path.endswith("/") and _holds_runs(root / path))]
    if not paths:
        return ()
    shown = ", ".join(paths[:3]) + (", ..." if len(paths) > 3 else "")
    changes = count(len(paths), "uncommitted change was", "uncommitted changes were")
    them = "it" if len(paths) == 1 else "them"
    return (f"{changes} not taken ({shown}): commit {them} to include {them}",)


def _ignore_as_committed(store: GitDir, index: Path, inside: str) -> None:
    """Make git take what the folders around `inside` ignore from the index: only `inside` is shown here. Asked for
    one path two folders down git 2.39 forgets that, so it is asked for all."""
    above = [f":(literal){folder / '.gitignore'}" for folder in PurePosixPath(inside).parents]
    listed = store.run("ls-files", "-z", "--", *above, index=index, bounds=STATUS) if above else b""
    if listed:
        marking = ("update-index", "--skip-worktree", "-z", "--stdin")
        store.run(*marking, index=index, stdin=listed, work_tree=Path(SOURCE), bounds=STATUS)


def _holds_runs(folder: Path) -> bool:
    """Whether an untracked folder is a run of ours, or holds nothing else; one that cannot be looked into does not."""
    try:
        if (folder / RUN).is_file():
            return True
        inner = list(islice(folder.iterdir(), MOST_RUNS))
        return bool(inner) and all((one / RUN).is_file() for one in inner)
    except OSError:
        return False


def _pipe(root: Path) -> str:
    """The first pipe, socket or device that git would open, and wait for."""
    for folder, name, mode in walk(root, skipped=frozenset({".git"}), most=MAX_OBJECTS):
        if name in IGNORING and not stat.S_ISREG(mode) and not stat.S_ISLNK(mode) and not stat.S_ISDIR(mode):
            return (folder / name).relative_to(root).as_posix()
    return ""
