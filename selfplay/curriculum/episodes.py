"""Injector episodes and the first-order bugs they produced: rows of the pool, and the bugs' folders.

An episode's result is stored as soon as it exists (folder first, then row), so nothing finished is lost. Bugs are taken
from the stored results either in the order of episode numbers, so that the pool does not depend on the speed of the
workers, or as they come, so that training never waits for a straggler.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from selfplay.artifact import Bug, save, save_bug
from selfplay.artifact.reading import ensured_folder, existing_folder
from selfplay.curriculum.episode_rows import COLUMNS, record_of
from selfplay.curriculum.records import DAMAGED, DUPLICATE, CurriculumError, EpisodeRecord, bug_of_row, plain_row
from selfplay.sandbox.owners import remove

_TASK = "CASE WHEN json_valid(e.figures) THEN json_extract(e.figures, '$.task') END"
_PLANTED = "bugs b JOIN episodes e ON (e.repository, e.number) = (b.repository, b.episode)"
"""First-order bugs with the episodes that produced them."""
_NEXT = {
    True: "number = (SELECT MIN(number) FROM episodes WHERE taken = 0 AND repository = ?1)"
    " AND number = (SELECT COUNT(*) FROM episodes e WHERE e.repository = ?1 AND e.number < episodes.number)",
    False: "1 = 1",
}
"""Which stored episode is taken next: the first, if none before it is missing, or any."""


class Episodes:
    """The part of a pool that injectors write. `repository` may be empty when there is only one."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self._folder = folder
        self._db = database
        self._keys: dict[str, frozenset[str]] = {}
        self._places: dict[str, int] = {}

    def store(self, episode: EpisodeRecord) -> None:
        """Store an episode's result; a valid bug's five files and `bug.json` go to the staging folder first."""
        key = (episode.repository, episode.number)
        taken = "SELECT 1 FROM episodes WHERE (repository, number) = (?, ?) AND taken > 0"
        if self._db.execute(taken, key).fetchone():
            return  # its result is in the pool already
        if episode.bug is not None and episode.artifact is not None:
            folder = self._staging(episode.repository, episode.number)
            ensured_folder(self._folder, "staging")
            remove(folder)
            save(episode.artifact, folder)
            save_bug(episode.bug, folder)
        row = (
            episode.repository, episode.number, episode.strategy, episode.status, episode.reason,
            episode.failed_check, episode.tree_key, episode.bug.model_dump_json() if episode.bug else None,
            episode.figures.model_dump_json(), episode.group, episode.policy, *episode.versions, episode.trajectory,
        )  # fmt: skip
        marks = ", ".join("?" * len(row))
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO repositories VALUES (?, '{}')", (episode.repository,))
            self._db.execute(f"INSERT OR REPLACE INTO episodes ({COLUMNS}) VALUES ({marks})", plain_row(row))

    def take(
        self, wanted: int | None, patience: int | None = None, *, repository: str = "", in_order: bool = True
    ) -> list[Bug]:
        """Turn stored results into bugs until the pool holds `wanted` of the repository (all of them if None). Returns
        the bugs taken now.

        `in_order`: by episode number without gaps, otherwise as they came. It also stops when `patience` episodes in a
        row gave no new bug. An episode whose buggy tree or task is already in the pool becomes a duplicate.
        """
        taken: list[Bug] = []
        missing = float("inf") if wanted is None else wanted - self.count(repository)
        while len(taken) < missing and (patience is None or self.fruitless(repository) < patience):
            row = self._db.execute(
                "SELECT number, status, tree_key, bug FROM episodes WHERE taken = 0 AND repository = ?1"
                f" AND {_NEXT[in_order]} ORDER BY rowid LIMIT 1",
                (repository,),
            ).fetchone()
            if row is None:
                break
            number, status, tree_key, text = row
            with self._db:  # one transaction: a bug is in the pool if and only if its episode is taken
                bug = self._take(repository, number, tree_key, bug_of_row(text)) if status == "valid" else None
                self._db.execute(
                    "UPDATE episodes SET taken = (SELECT MAX(taken) + 1 FROM episodes)"
                    " WHERE repository = ? AND number = ?",
                    (repository, number),
                )
            if bug is not None:
                taken.append(bug)
                self._keys[repository] |= {key for key in (tree_key, self._task(repository, number)) if key}
        return taken

    def _take(self, repository: str, number: int, tree_key: str, bug: Bug) -> Bug | None:
        known = "SELECT 1 FROM bugs WHERE (repository = ? AND tree_key = ?) OR id = ?"
        staging = self._staging(repository, number)
        repeated = self._db.execute(known, (repository, tree_key, bug.id)).fetchone()
        if repeated or self._task(repository, number) in self.keys(repository):
            self._db.execute(
                "UPDATE episodes SET status = 'duplicate', reason = ? WHERE repository = ? AND number = ?",
                (DUPLICATE, repository, number),
            )
            remove(staging)
            return None
        target = self._folder / "bugs" / bug.id
        if existing_folder(self._folder, "staging", staging.name) is not None:
            ensured_folder(self._folder, "bugs")
            staging.replace(target)
        self._db.execute(
            "INSERT INTO bugs (id, repository, episode, tree_key) VALUES (?, ?, ?, ?)",
            (bug.id, repository, number, tree_key),
        )
        return bug

    def _task(self, repository: str, number: int) -> str | None:
        """The key of an episode's task, or None."""
        of = f"SELECT {_TASK} FROM episodes e WHERE repository = ? AND number = ?"
        return self._db.execute(of, (repository, number)).fetchone()[0] or None

    # -- reading -----------------------------------------------------------------------------------------------

    def finished(self, repository: str = "") -> set[int]:
        """Numbers of the episodes whose results are stored."""
        return {row[0] for row in self._db.execute("SELECT number FROM episodes WHERE repository = ?", (repository,))}

    def stored(self, wanted: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """The ones among these (repository, number) whose results are stored."""
        found = "SELECT 1 FROM episodes WHERE (repository, number) = (?, ?)"
        return {one for one in wanted if self._db.execute(found, one).fetchone()}

    def newest(self, repository: str) -> int:
        """The largest number of a stored episode; -1 without one."""
        found = self._db.execute("SELECT MAX(number) FROM episodes WHERE repository = ?", (repository,)).fetchone()[0]
        return -1 if found is None else int(found)

    def any_stored(self) -> bool:
        """Whether the result of any episode is stored."""
        return self._db.execute("SELECT 1 FROM episodes").fetchone() is not None

    def count(self, repository: str | None = None) -> int:
        """First-order bugs in the pool, of one repository or of all."""
        every = repository is None
        counted = "SELECT COUNT(*) FROM bugs WHERE ? OR repository = ?"
        return int(self._db.execute(counted, (every, repository)).fetchone()[0])

    def waiting(self, repository: str = "") -> int:
        """Valid bugs that wait behind an episode that is not finished."""
        waiting = "SELECT COUNT(*) FROM episodes WHERE taken = 0 AND status = 'valid' AND repository = ?"
        return int(self._db.execute(waiting, (repository,)).fetchone()[0])

    def fruitless(self, repository: str = "") -> int:
        """Episodes taken since the last new bug (all of them when there is no bug)."""
        last = (
            "SELECT COALESCE(MAX(e.taken), 0) FROM bugs b JOIN episodes e"
            " ON (e.repository, e.number) = (b.repository, b.episode) WHERE b.repository = ?1"
        )
        counted = f"SELECT COUNT(*) FROM episodes WHERE repository = ?1 AND taken > ({last})"
        return int(self._db.execute(counted, (repository,)).fetchone()[0])

    def records(self, repository: str | None = None) -> list[EpisodeRecord]:
        """The episodes taken so far, by repository and number, without their artifacts."""
        rows = self._db.execute(
            f"SELECT {COLUMNS} FROM episodes WHERE taken > 0 AND (? OR repository = ?) ORDER BY repository, number",
            (repository is None, repository),
        )
        return [record_of(row) for row in rows.fetchall()]

    def some(self, wanted: Iterable[tuple[str, int]]) -> list[EpisodeRecord]:
        """The taken episodes among these (repository, number), in this order, as in `records`."""
        chosen = f"SELECT {COLUMNS} FROM episodes WHERE taken > 0 AND (repository, number) = (?, ?)"
        rows = (self._db.execute(chosen, one).fetchone() for one in wanted)
        return [record_of(row) for row in rows if row is not None]

    def keys(self, repository: str = "") -> frozenset[str]:
        """The keys of the pool's buggy trees and of their tasks. Read once; the writer adds new ones."""
        if repository not in self._keys:
            rows = self._db.execute(f"SELECT b.tree_key, {_TASK} FROM {_PLANTED} WHERE b.repository = ?", (repository,))
            self._keys[repository] = frozenset(key for row in rows for key in row if key)
        return self._keys[repository]

    def homes(self) -> dict[str, str]:
        """Bug -> its repository."""
        return dict(self._db.execute("SELECT id, repository FROM bugs").fetchall())

    def gave(self, wanted: Iterable[tuple[str, int]] | None = None) -> dict[tuple[str, int], str]:
        """(repository, number) of the episodes whose bugs (or these) are in the pool -> the bug, as they were taken."""
        asked, one = "SELECT place, repository, episode, id FROM bugs", "WHERE (repository, episode) = (?, ?)"
        rows = (
            self._db.execute(asked).fetchall()
            if wanted is None
            else [row for episode in wanted for row in self._db.execute(f"{asked} {one}", episode)]
        )
        return {(repository, number): bug for _, repository, number, bug in sorted(rows)}

    def planted(self, name: str) -> bool:
        """Whether a first-order bug has this name."""
        return self._db.execute("SELECT 1 FROM bugs WHERE id = ?", (name,)).fetchone() is not None

    def bug(self, name: str) -> Bug | None:
        """The first-order bug of this name, or None."""
        row = self._db.execute(f"SELECT e.bug FROM {_PLANTED} WHERE b.id = ?", (name,)).fetchone()
        return None if row is None else _own(name, bug_of_row(row[0]))

    def bugs(self) -> list[Bug]:
        """The first-order bugs of the pool, in the order in which they were taken."""
        return [record.bug for record in self.with_bugs() if record.bug]

    def with_bugs(self) -> list[EpisodeRecord]:
        """The episodes that produced the first-order bugs of the pool, in the order in which the bugs were taken."""
        columns = ", ".join(f"e.{name.strip()}" for name in COLUMNS.split(","))
        rows = self._db.execute(f"SELECT b.id, {columns} FROM {_PLANTED} ORDER BY b.place")
        records = {row[0]: record_of(row[1:]) for row in rows.fetchall()}
        for name, record in records.items():
            _own(name, record.bug)
        return list(records.values())

    # -- folders -----------------------------------------------------------------------------------------------

    def suffix(self, repository: str) -> str:
        """The suffix that distinguishes a repository's files: empty for the first repository of the pool."""
        if repository not in self._places:  # they are only ever added, at the end
            rows = self._db.execute("SELECT name FROM repositories ORDER BY rowid")
            self._places = {row[0]: place for place, row in enumerate(rows)}
        place = self._places.get(repository, len(self._places))
        return f"-{place + 1}" if place else ""

    def original(self, repository: str) -> Path:
        """The folder of a repository's tree."""
        return self._folder / f"original{self.suffix(repository)}"

    def originals(self) -> dict[str, Path]:
        """Tree hash -> the folder of that tree, for the repositories that have a bug."""
        return {record.bug.tree_hash: self.original(record.repository) for record in self.with_bugs() if record.bug}

    def _staging(self, repository: str, number: int) -> Path:
        return self._folder / "staging" / f"{number:06d}{self.suffix(repository)}"

    def clear_staging(self) -> None:
        """Remove what a kill left in the staging folder, which the pool owns: folders that belong to no episode."""
        rows = self._db.execute("SELECT repository, number FROM episodes WHERE taken = 0").fetchall()
        waiting = {self._staging(repository, number) for repository, number in rows}
        parent = existing_folder(self._folder, "staging")
        found = sorted(parent.iterdir()) if parent else ()
        remove(*(one for one in found if one not in waiting and one.is_dir() and not one.is_symlink()))


def _own(name: str, bug: Bug | None) -> Bug:
    """The bug of that name. Raises `CurriculumError` if its row has another bug, or none."""
    if bug is None or bug.id != name:
        raise CurriculumError(f"a row of the pool is damaged: the bug {name} has no record of its own", DAMAGED)
    return bug
