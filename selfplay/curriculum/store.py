"""The pool of bugs of one run: SQLite in WAL mode beside the bugs' folders, safe against a kill at any moment.

An episode's result is staged as soon as it is there (folder first, then row), so nothing finished is lost; bugs are
taken from the staged results in the order of episode numbers, so the pool does not depend on which worker was quick.
A folder without a row is a kill's leftover and is removed on opening (`opening.py`); its episode is played again.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from selfplay.artifact import Bug, save, save_bug
from selfplay.curriculum.attempts import Attempts
from selfplay.curriculum.result import DUPLICATE, CurriculumError, EpisodeResult, bug_of_row
from selfplay.words import difference

SCHEMA = """
CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS episodes (
    number INTEGER PRIMARY KEY,
    strategy TEXT NOT NULL,
    status TEXT NOT NULL,       -- valid, invalid, duplicate, gave_up, failed
    reason TEXT NOT NULL,
    failed_check TEXT,
    tree_key TEXT,              -- equal for equal buggy trees
    bug TEXT,                   -- bug.json of a valid one
    figures TEXT NOT NULL,      -- JSON: seconds, suite runs, changed lines and files
    taken INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS bugs (
    id TEXT PRIMARY KEY,
    episode INTEGER NOT NULL UNIQUE REFERENCES episodes(number),
    state TEXT NOT NULL DEFAULT 'valid',
    tree_key TEXT NOT NULL UNIQUE
);
"""


class Curriculum:
    """The pool in `folder`. One process at a time; one thread of it writes."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self.folder = folder
        self._db = database
        self.attempts = Attempts(folder, database)

    # -- the run's settings ------------------------------------------------------------------------------------

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Record the settings that fix a run's bugs, or check that they are those recorded.

        They bind once an episode is stored: before that a mistyped source or a missing `--test` may be mended.
        Raises `CurriculumError` naming the first difference.
        """
        hint = "Resume with the same settings, or give another --out."
        self._settle(settings, self.settings() if self.finished() else {}, hint)

    def settle_attempts(self, name: str, settings: Mapping[str, Any]) -> None:
        """As `settle`, what fixes the attempts filed under `name`: it binds once an attempt is stored. Attempts whose
        `policy` nobody recorded (an earlier version's) are those of the policy of that name."""
        named = {f"{name}: {key}": value for key, value in settings.items()}
        hint = "Use the same policy and options, or file these attempts under another --name."
        known = {f"{name}: policy": name, **self.settings()}
        self._settle(named, known if self.attempts.finished(name) else {}, hint)

    def _settle(self, settings: Mapping[str, Any], bound: Mapping[str, Any], hint: str) -> None:
        for key, value in settings.items():
            if key in bound and bound[key] != value:
                was, wanted = difference(bound[key], value)
                raise CurriculumError(f"{self.folder} was made with {key} = {was}, not {wanted}", hint)
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO run VALUES (?, ?)", [(key, json.dumps(v)) for key, v in settings.items()]
            )

    # -- episodes ----------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """What `settle` recorded."""
        return {key: json.loads(value) for key, value in self._db.execute("SELECT key, value FROM run")}

    def finished(self) -> set[int]:
        """Numbers of the episodes whose results are stored."""
        return {row[0] for row in self._db.execute("SELECT number FROM episodes")}

    def stage(self, result: EpisodeResult) -> None:
        """Store an episode's result; a valid bug's five files and `bug.json` go to the staging folder first."""
        if result.bug is not None and result.artifact is not None:
            folder = self._staging(result.number)
            shutil.rmtree(folder, ignore_errors=True)
            save(result.artifact, folder)
            save_bug(result.bug, folder)
        row = (
            result.number,
            result.strategy,
            result.status,
            result.reason,
            result.failed_check,
            result.tree_key,
            result.bug.model_dump_json() if result.bug else None,
            json.dumps(result.figures),
        )
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO episodes"
                " (number, strategy, status, reason, failed_check, tree_key, bug, figures)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def take(self, wanted: int, patience: int | None = None) -> list[Bug]:
        """Turn staged results into bugs, in episode order without gaps, until the pool holds `wanted`.

        It ends too where `patience` episodes in a row gave no new bug, however many results are staged behind them.
        Returns the bugs taken now. A buggy tree that is in the pool already makes its episode a duplicate.
        """
        taken: list[Bug] = []
        while self.count() < wanted and (patience is None or self.fruitless() < patience):
            row = self._db.execute(
                "SELECT number, status, tree_key, bug FROM episodes WHERE taken = 0 AND number ="
                " (SELECT COALESCE(MAX(number), -1) + 1 FROM episodes WHERE taken = 1)"
            ).fetchone()
            if row is None:
                break
            number, status, tree_key, text = row
            with self._db:  # one transaction: a bug is in the pool if and only if its episode is taken
                bug = self._take(number, tree_key, bug_of_row(text)) if status == "valid" else None
                self._db.execute("UPDATE episodes SET taken = 1 WHERE number = ?", (number,))
            if bug is not None:
                taken.append(bug)
        return taken

    def _take(self, number: int, tree_key: str, bug: Bug) -> Bug | None:
        if self._db.execute("SELECT 1 FROM bugs WHERE tree_key = ? OR id = ?", (tree_key, bug.id)).fetchone():
            self._db.execute(
                "UPDATE episodes SET status = 'duplicate', reason = ? WHERE number = ?", (DUPLICATE, number)
            )
            shutil.rmtree(self._staging(number), ignore_errors=True)
            return None
        target = self.folder / "bugs" / bug.id
        if self._staging(number).exists():
            target.parent.mkdir(exist_ok=True)
            self._staging(number).replace(target)
        self._db.execute("INSERT INTO bugs (id, episode, tree_key) VALUES (?, ?, ?)", (bug.id, number, tree_key))
        return bug

    # -- reading -----------------------------------------------------------------------------------------------

    def count(self) -> int:
        """First-order bugs in the pool."""
        return int(self._db.execute("SELECT COUNT(*) FROM bugs").fetchone()[0])

    def waiting(self) -> int:
        """Valid bugs staged behind an episode that is not finished."""
        return int(self._db.execute("SELECT COUNT(*) FROM episodes WHERE taken = 0 AND status = 'valid'").fetchone()[0])

    def fruitless(self) -> int:
        """Episodes since the last new bug (all when there is none)."""
        last = "SELECT COALESCE(MAX(episode), -1) FROM bugs"
        return int(
            self._db.execute(f"SELECT COUNT(*) FROM episodes WHERE taken = 1 AND number > ({last})").fetchone()[0]
        )

    def episodes(self) -> list[dict[str, Any]]:
        """The episodes taken so far, in order, with their figures."""
        columns = "number, strategy, status, reason, failed_check, figures"
        rows = self._db.execute(f"SELECT {columns} FROM episodes WHERE taken = 1 ORDER BY number").fetchall()
        names = columns.split(", ")
        return [{**dict(zip(names, row, strict=True)), "figures": json.loads(row[-1])} for row in rows]

    def tree_keys(self) -> set[str]:
        """The keys of the buggy trees in the pool."""
        return {row[0] for row in self._db.execute("SELECT tree_key FROM bugs")}

    def bugs(self) -> list[Bug]:
        """The first-order bugs of the pool, in episode order."""
        return [bug for bug, _ in self.bugs_with_episodes()]

    def bugs_with_episodes(self) -> list[tuple[Bug, int]]:
        """The first-order bugs of the pool and the numbers of their episodes, in episode order."""
        rows = self._db.execute(
            "SELECT e.bug, e.number FROM bugs b JOIN episodes e ON e.number = b.episode ORDER BY e.number"
        )
        return [(bug_of_row(text), number) for text, number in rows]

    def _staging(self, number: int) -> Path:
        return self.folder / "staging" / f"{number:06d}"

    def recover(self) -> None:
        """Remove what a kill left: staged folders without a row, bug folders without a row or a staged episode."""
        staged = {f"{number:06d}" for number in self.finished()}
        for folder in _folders(self.folder / "staging"):
            if folder.name not in staged:
                shutil.rmtree(folder)
        known = {bug.id for bug in (*self.bugs(), *self.attempts.bugs())} | self._ids_to_come()
        for folder in _folders(self.folder / "bugs"):
            if folder.name not in known:
                shutil.rmtree(folder)

    def _ids_to_come(self) -> set[str]:
        rows = self._db.execute("SELECT bug FROM episodes WHERE bug IS NOT NULL AND taken = 0")
        return {str(json.loads(row[0])["id"]) for row in rows}


def _folders(parent: Path) -> Iterator[Path]:
    return (path for path in sorted(parent.iterdir()) if path.is_dir()) if parent.is_dir() else iter(())
