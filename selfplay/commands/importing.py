"""What `selfplay import` does, on values: turn rows of other tools into a pool."""

import gzip
import hashlib
import platform
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from selfplay.artifact import Bug
from selfplay.artifact.bug import Imported
from selfplay.artifact.decoding import first_fault
from selfplay.artifact.reading import ensured_folder
from selfplay.commands.shared_run import say_if_shared
from selfplay.curriculum import Curriculum, CurriculumError, open_curriculum
from selfplay.curriculum.untrusted_sqlite import ORIGINALS
from selfplay.errors import SelfplayError
from selfplay.formatting import Say
from selfplay.importers.rows import DatasetRow, ImportRefused, read_rows
from selfplay.importers.tasks import ImportedTask, task_of
from selfplay.repository.errors import BadStream
from selfplay.repository.files.confined_write import PAGE
from selfplay.repository.files.tar import Tar
from selfplay.repository.files.tree_files import LARGEST_TREE, bring_tree_out, take_tree, tree_id
from selfplay.repository.files.unpack import write_out
from selfplay.sandbox import Backend, SandboxError, World
from selfplay.sandbox.owners import remove
from selfplay.sandbox.retry import again
from selfplay.validators import Thresholds
from selfplay.version import VERSION
from selfplay.workbench.applying import DoesNotApply, apply_diffs

MOST_TIMES, LEAST_ENTRY, SPARE_ENTRIES = 100, 16, 16
"""An archive may hold so many times its size, and an entry for each so many bytes of it, which takes a page at least:
else a dataset of some megabytes would fill the disk."""
UNTRIED = ("its commit, taken back,", "what hides its tests")
"""The names of `ImportedTask.untried`."""


@dataclass(frozen=True)
class ImportOrder:
    """What the user asked for. `sources`: repository of a row -> the source of its code; nothing that a row names is
    fetched. `form`: swebench or swesmith, for rows that do not tell."""

    rows: Path
    out: Path
    sources: Mapping[str, str] = field(default_factory=dict)
    form: str = ""


@dataclass
class Taken:
    """The result: tasks added to the pool, tasks that were already there, and refused rows with reasons."""

    tasks: list[str] = field(default_factory=list)
    known: int = 0
    skipped: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"tasks": self.tasks, "known": self.known, "skipped": self.skipped}


def run_import(order: ImportOrder, backend: Backend, say: Say) -> Taken:
    """Import the rows into the pool of `order.out`, which may have others. A row that cannot be imported is skipped and
    named with the reason. Raises `SelfplayError` for a file without rows."""
    rows = read_rows(order.rows)
    first = next(rows)
    with open_curriculum(order.out) as pool:
        say_if_shared(order.out, say)
        if pool.episodes.any_stored():
            raise CurriculumError(f"{order.out} has bugs that selfplay made", "Import into a folder of its own.")
        work = _Import(order, pool, backend)
        for row in (first, *rows):
            work.take(row)
            if row.name in work.found.skipped:
                say(f"skipped {row.name}: {work.found.skipped[row.name]}")
        if not pool.bugs():
            why = Counter(work.found.skipped.values()).most_common(1)[0][0]
            raise ImportRefused(f"no row of {order.rows} can be imported", f"Most often: {why}.")
    return work.found


class _Import:
    """Imports rows one by one; a shared original is made once."""

    def __init__(self, order: ImportOrder, pool: Curriculum, backend: Backend) -> None:
        self.order, self.pool, self.backend = order, pool, backend
        self.found = Taken()
        self.known = {bug.id: bug for bug in pool.bugs()}
        self.trees: dict[tuple[str, ...], str] = {}
        self.damaged: dict[tuple[int, int], str] = {}
        self.held: dict[tuple[int, int], str] = {}

    def take(self, row: DatasetRow) -> None:
        try:
            task = task_of(row, self.order.form)
            name = bug_id(task.instance)
            there = self.known.get(name)
            if there is not None and there.imported is not None and there.imported.sha256 == row.sha256:
                self.found.known += 1
                return
            if there is not None:
                raise ImportRefused(f"another row is named {task.instance[:100]!r}")
            bug = bug_of(task, name, self._original(task))
        except (SandboxError, CurriculumError):
            raise
        except (SelfplayError, ValidationError) as error:
            said = first_fault(error) if isinstance(error, ValidationError) else error.message
            self.found.skipped[row.name] = said
            return
        self.pool.imports.add(bug, task.artifact, task.attempt)
        self.known[name] = bug
        self.found.tasks.append(name)

    def _original(self, task: ImportedTask) -> str:
        """The tree id of the task's original, which is then in the run's folder."""
        if task.archive is not None:
            if (task.tree_hash,) not in self.trees:
                self.trees[task.tree_hash,] = self._unpacked(task, task.archive)
            return self.trees[task.tree_hash,]
        source = self.order.sources.get(task.repo)
        if source is None:
            raise ImportRefused(f"where is {task.repo or 'its repository'}? Say it with --source NAME=SOURCE")
        key = (source, task.commit, *task.diffs, *task.untried)
        if key not in self.trees:
            self.trees[key] = self._kept(task, lambda at: self._made(task, source, at))
        return self.trees[key]

    def _unpacked(self, task: ImportedTask, archive: Path) -> str:
        """An archive's tree. One that is damaged, or that holds another tree, is unpacked once, however many rows name
        it, by this name or by another."""
        found = archive.stat()
        same = (found.st_dev, found.st_ino)
        if same in self.damaged:
            raise ImportRefused(self.damaged[same])
        if self.held.get(same, task.tree_hash) != task.tree_hash:
            raise _OtherTree(self.held[same], task)
        try:
            return self._kept(task, lambda at: _unpack(archive, at))
        except _OtherTree as error:
            self.held[same] = error.tree
            raise
        except (SandboxError, CurriculumError):
            raise
        except SelfplayError as error:
            self.damaged[same] = error.message
            raise

    def _kept(self, task: ImportedTask, make: Callable[[Path], None]) -> str:
        """Make a tree beside the others and name it by its tree id."""
        folder = ensured_folder(self.pool.folder, ORIGINALS)
        staging = folder / ".new"
        try:
            again(lambda: _anew(staging, make))
            tree = again(lambda: tree_id(staging, self.backend))
            if task.tree_hash not in ("", tree):
                raise _OtherTree(tree, task)
            if not (folder / tree).is_dir():
                staging.rename(folder / tree)
        finally:
            remove(staging)
        return tree

    def _made(self, task: ImportedTask, source: str, folder: Path) -> None:
        """Make the source at the row's commit, with the row's diffs applied in a sandbox, where its other diffs are
        tried."""
        base = folder.with_name(".base")
        try:
            _anew(base, lambda at: take_tree(source, task.commit, at, self.backend))
            base.chmod(0o755)
            with self.backend.open(World(tree=(base,))) as sandbox:
                try:
                    apply_diffs(sandbox, task.diffs, lambda diff: task.diff_names[task.diffs.index(diff)])
                    bring_tree_out(sandbox, folder, self.backend.python)
                    apply_diffs(sandbox, task.untried, lambda diff: UNTRIED[task.untried.index(diff)])
                except DoesNotApply as error:
                    raise ImportRefused(str(error)) from error
        except BadStream as error:
            raise ImportRefused(error.message) from error
        finally:
            remove(base)


class _OtherTree(ImportRefused):
    """`tree`: what an original is, instead of what its row says."""

    def __init__(self, tree: str, task: ImportedTask) -> None:
        super().__init__(f"its original is the tree {tree[:12]}, not {task.tree_hash[:12]}")
        self.tree = tree


def _anew(folder: Path, make: Callable[[Path], None]) -> None:
    remove(folder)
    folder.mkdir()
    make(folder)


def _unpack(archive: Path, folder: Path) -> None:
    """Raises `ImportRefused` for one that is damaged, or packed more tightly than files of a repository are."""
    size = archive.stat().st_size
    entries = min(LARGEST_TREE.entries, SPARE_ENTRIES + size // LEAST_ENTRY)
    most = replace(LARGEST_TREE, bytes=min(LARGEST_TREE.bytes, MOST_TIMES * size + PAGE * entries), entries=entries)
    try:
        with gzip.open(archive, "rb") as stream:
            write_out(Tar(stream), folder, most)  # type: ignore[arg-type]
    except (BadStream, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ImportRefused(f"the original beside the rows is damaged: {str(error)[:200]}") from error


def bug_id(instance: str) -> str:
    """The name of a task in a pool, made from the row's name; a changed name gets a part of its hash."""
    plain = re.sub(r"[^a-z0-9_.-]+", "-", instance.lower()).lstrip("-_.")[:100]
    return plain if plain == instance else f"{plain or 'task'}.{hashlib.sha256(instance.encode()).hexdigest()[:8]}"


def bug_of(task: ImportedTask, name: str, tree: str) -> Bug:
    """The record of an imported task. Raises `ValidationError` for a row with impossible values."""
    extra = dict(task.extra)
    seconds = extra.pop("seconds", Thresholds().seconds)
    hidden = tuple(test for test in extra.pop("hidden", ()) if extra.get("order") == 2 or test in task.fail_to_pass)
    environment = {**task.environment, "tree_hash": tree}
    return Bug.model_validate({
        "id": name, "strategy": extra.pop("strategy", "imported"), "source": task.repo or "imported",
        "revision": task.commit, "commit": task.commit, "tree_hash": tree, "content_hash": task.artifact.content_hash(),
        "fail_to_pass": task.fail_to_pass, "pass_to_pass": task.pass_to_pass, "hidden": hidden,
        "thresholds": replace(Thresholds(), seconds=seconds).to_json(), "environment": environment,
        "versions": {"selfplay": VERSION, "python": platform.python_version()},
        "imported": Imported(
            form=task.form, instance=task.instance, sha256=task.row.sha256,
            weakened=task.artifact.test_weaken is not None, statement=task.statement,
        ),
        **extra,
    })  # fmt: skip
