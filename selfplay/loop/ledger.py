"""The ledger of a training run: each step's episodes and figures, in `train.sqlite` of the run's folder.

A step is planned before it is played, so that a killed run resumes with its missing episodes, and finished once its
weights are on disk. The checkpoint names its last step: a step in the checkpoint that is not finished in the ledger was
updated before the kill and is not updated again. So every rollout is trained on exactly once.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.artifact.decoding import json_text
from selfplay.curriculum.database_errors import hint, said
from selfplay.curriculum.records import CurriculumError
from selfplay.curriculum.untrusted_schema import refuse_other_tables
from selfplay.curriculum.untrusted_sqlite import LEDGER, harden, within
from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger_values import Attempted, attempted, is_count, step_record, stored_value
from selfplay.loop.schedule import Injected
from selfplay.loop.step_record import StepRecord
from selfplay.untrusted_json import answer, count_values

NAME = LEDGER
VERSION = 2
MOST_VALUES = 2_000_000
"""Of all settings and steps together; a step has some eighty."""
TEXTS = {"settings": ("value",), "steps": ("injections", "attempts", "figures"), "benched": ("reason",)}
OTHER = "Is it damaged? Another --out begins anew."
SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS steps (
    step INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,   -- of the weights that play it
    injections TEXT NOT NULL,   -- JSON: [repository, number] pairs of injector episodes
    attempts TEXT,              -- JSON: [bug, number] pairs; NULL until the injections are played
    figures TEXT                -- JSON; NULL until the step is finished
);
CREATE TABLE IF NOT EXISTS benched (  -- repositories that are not drawn
    repository TEXT NOT NULL,
    step INTEGER NOT NULL,      -- from this one on
    until INTEGER,              -- the first step in which it is drawn again; NULL: it cannot be used
    reason TEXT NOT NULL,
    PRIMARY KEY (repository, step)
)"""


@dataclass(frozen=True)
class Planned:
    """A step: the version of the weights that play it, its injector episodes and, once they are played, its
    attempts."""

    step: int
    version: int
    injections: Injected
    attempts: Attempted | None = None


class Ledger:
    """The steps of one run. Only one process writes."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database

    def settle(self, settings: Mapping[str, Any], unrecorded: Mapping[str, Any] | None = None) -> None:
        """Record the settings of the run, or check that they match the recorded ones. `unrecorded`: the values of
        settings that an earlier version did not record. Raises `TrainingError`."""
        known = {name: stored_value(value) for name, value in self._db.execute("SELECT name, value FROM settings")}
        for name, value in settings.items():
            if name in known and (was := whole(known[name], (unrecorded or {}).get(name))) != value:
                raise TrainingError(
                    f"this run was begun with {name} = {was}, not {value}",
                    "Resume with the same settings, or give another --out.",
                )
        with self._db:
            rows = [(name, json_text(value)) for name, value in settings.items()]
            self._db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)

    def recorded(self, name: str) -> Any:
        """A setting, or None."""
        row = self._db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return None if row is None else stored_value(row[0])

    def names(self, name: str) -> list[str] | None:
        """A setting that is a list of names, or None. Raises `ValueError` for anything else."""
        found = self.recorded(name)
        if found is not None and not (isinstance(found, list) and all(isinstance(one, str) for one in found)):
            raise ValueError(f"{name} is no list of names")
        return found

    def counts(self, name: str) -> dict[str, int] | None:
        """A setting that is a count for each name, or None. Raises `ValueError` for anything else."""
        found = self.recorded(name)
        if found is not None and not (isinstance(found, dict) and all(map(is_count, found.values()))):
            raise ValueError(f"{name} is no table of counts")
        return found

    def steps_finished(self) -> int:
        """How many steps are finished."""
        counted = self._db.execute("SELECT COUNT(*) FROM steps WHERE figures IS NOT NULL").fetchone()
        return int(counted[0])

    def finished(self) -> list[StepRecord]:
        """The finished steps, in order."""
        rows = self._db.execute("SELECT figures FROM steps WHERE figures IS NOT NULL ORDER BY step")
        return [step_record(text) for (text,) in rows]

    def newest(self, count: int) -> list[StepRecord]:
        """The last `count` finished steps, in order."""
        last = "SELECT figures FROM steps WHERE figures IS NOT NULL ORDER BY step DESC LIMIT ?"
        return [step_record(text) for (text,) in self._db.execute(last, (count,))][::-1]

    def begin(self, step: int, version: int, injections: Injected) -> Planned:
        """The plan of a step: the recorded one, or a new one."""
        with self._db:
            self._db.execute(
                "INSERT OR IGNORE INTO steps (step, version, injections) VALUES (?, ?, ?)",
                (step, version, json_text(injections)),
            )
        row = self._db.execute("SELECT version, injections, attempts FROM steps WHERE step = ?", (step,)).fetchone()
        attempts = None if row[2] is None else attempted(row[2])
        return Planned(step, int(row[0]), answer(Injected, row[1].encode()), attempts)

    def planned(self, step: int) -> bool:
        """Whether the step was planned."""
        return self._db.execute("SELECT 1 FROM steps WHERE step = ?", (step,)).fetchone() is not None

    def injections(self, since: int = 0, played: bool = False) -> Injected:
        """The injector episodes of the steps from `since` on, in order; `played`: only of steps that have played
        them."""
        return self._injections("step >= ? AND (NOT ? OR attempts IS NOT NULL)", since, played)

    def open_injections(self) -> Injected:
        """The injector episodes of unfinished steps."""
        return self._injections("figures IS NULL")

    def _injections(self, where: str, *values: int) -> Injected:
        rows = self._db.execute(f"SELECT injections FROM steps WHERE {where} ORDER BY step", values)
        return [one for (text,) in rows.fetchall() for one in answer(Injected, text.encode())]

    def choose(self, step: int, attempts: Attempted) -> None:
        """Set the attempts of a planned step."""
        with self._db:
            self._db.execute("UPDATE steps SET attempts = ? WHERE step = ?", (json_text(attempts), step))

    def open_attempts(self) -> Attempted:
        """The attempts of unfinished steps, made or not."""
        rows = self._db.execute("SELECT attempts FROM steps WHERE attempts IS NOT NULL AND figures IS NULL")
        return [one for (text,) in rows.fetchall() for one in attempted(text)]

    def bench(self, repository: str, step: int, until: int | None, reason: str) -> None:
        """Do not draw a repository from `step` until before `until`; None: as long as it cannot be used."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO benched VALUES (?, ?, ?, ?)", (repository, step, until, reason))

    def benched(self, step: int) -> dict[str, str]:
        """Repository -> why it is not drawn in this step, for benched repositories."""
        rows = self._db.execute(
            "SELECT repository, reason FROM benched WHERE step <= ?1 AND (until IS NULL OR until > ?1) ORDER BY rowid",
            (step,),
        )
        return dict(rows.fetchall())

    def since(self, repository: str) -> int:
        """The step in which a repository's last bench ended or ends."""
        found = self._db.execute("SELECT MAX(until) FROM benched WHERE repository = ?", (repository,)).fetchone()
        return int(found[0] or 0)

    def usable(self, repository: str) -> None:
        """Lift the bench of a repository that could not be used and now can."""
        with self._db:
            self._db.execute("DELETE FROM benched WHERE repository = ? AND until IS NULL", (repository,))

    def finish(self, record: StepRecord) -> None:
        """Record a finished step."""
        with self._db:
            self._db.execute("UPDATE steps SET figures = ? WHERE step = ?", (json_text(record), record["number"]))


def whole(recorded: Any, unrecorded: Any) -> Any:
    """A recorded setting, completed with the parts that it lacks."""
    both = isinstance(recorded, dict) and isinstance(unrecorded, dict)
    return {**unrecorded, **recorded} if both else recorded


def _refuse_strange(database: sqlite3.Connection, path: Path) -> None:
    """Refuses all that `SCHEMA` does not make: the run's folder is untrusted."""
    try:
        with within(database):
            refuse_other_tables(database, path, SCHEMA)
    except CurriculumError as error:
        raise TrainingError(error.message, "Remove it, or give another --out.") from error


def _refuse_many_values(database: sqlite3.Connection) -> None:
    """Raises `ValueError` for more values than any run writes, before one of them is read."""
    values = 0
    for table, columns in TEXTS.items():
        for row in database.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            values += sum(count_values(text.encode("utf-8", "replace")) for text in row if text)
            if values > MOST_VALUES:
                raise ValueError(f"it holds more than {MOST_VALUES:,} values")


@contextmanager
def open_ledger(folder: Path) -> Iterator[Ledger]:
    """The ledger of a run's folder; the caller has locked its pool. Raises `TrainingError`."""
    path = folder / NAME
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise TrainingError(f"{path} is not a regular file", "Remove it, or give another --out.")
    try:
        with closing(sqlite3.connect(path, isolation_level="IMMEDIATE")) as database:
            harden(database)
            found = int(database.execute("PRAGMA user_version").fetchone()[0])
            if found > VERSION:
                raise TrainingError(f"{path} was made by a later version of selfplay", "Upgrade selfplay.")
            if 0 < found < VERSION:
                raise TrainingError(f"{path} was made by an earlier version of selfplay", "Give another --out.")
            _refuse_strange(database, path)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            with database:
                for statement in SCHEMA.split(";\n"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {VERSION}")
            _refuse_many_values(database)
            yield Ledger(database)
    except sqlite3.Error as error:
        raise TrainingError(said(error, path, what="training ledger"), hint(error, folder, OTHER)) from error
    except ValueError as error:
        raise TrainingError(f"{path}: {error}", OTHER) from error
