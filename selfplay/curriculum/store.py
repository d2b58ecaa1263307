"""The pool of bugs of one run: SQLite in WAL mode beside the bugs' folders, safe against a kill at any moment.

It holds bugs of any number of repositories, the episodes they came of, attempts at them by any number of policies and
versions of one, and what the run has cost. One process writes; any number read meanwhile (`opening.py`).
"""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfplay.artifact import Bug
from selfplay.curriculum.attempts import Attempts
from selfplay.curriculum.episodes import Episodes
from selfplay.curriculum.records import CurriculumError
from selfplay.words import difference


class Curriculum:
    """The pool in `folder`: its `episodes` with their bugs, the `attempts` at these, the settings that fix both."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self.folder = folder
        self._db = database
        self.episodes = Episodes(folder, database)
        self.attempts = Attempts(folder, database)

    def bugs(self) -> list[Bug]:
        """All bugs: of first order in the order in which they came, then those of second order."""
        return [*self.episodes.bugs(), *self.attempts.bugs()]

    # -- the run's settings ------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """What `settle` recorded."""
        return {key: json.loads(value) for key, value in self._db.execute("SELECT key, value FROM run")}

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Record the settings that fix a run's bugs, or check that they are those recorded.

        They bind once an episode is stored: before that a mistyped source or a missing `--test` may be mended.
        Raises `CurriculumError` naming the first difference.
        """
        hint = "Resume with the same settings, or give another --out."
        self._settle(settings, self.settings() if self.episodes.any_stored() else {}, hint)

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

    # -- its repositories --------------------------------------------------------------------------------------

    def record_repository(self, name: str, facts: Mapping[str, Any]) -> None:
        """Keep what is known of a repository of this pool: its revision, its language, how it is set up."""
        with self._db:
            self._db.execute(
                "INSERT INTO repositories VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET facts = ?2",
                (name, json.dumps(facts)),
            )

    def repositories(self) -> dict[str, dict[str, Any]]:
        """Name -> what is known of it, in the order in which they came."""
        rows = self._db.execute("SELECT name, facts FROM repositories ORDER BY rowid")
        return {name: json.loads(facts) for name, facts in rows}

    # -- what it cost ------------------------------------------------------------------------------------------

    def add_cost(self, phase: str, wall_seconds: float, core_seconds: float) -> None:
        """Count what a phase took, on top of what it took before the run was resumed."""
        with self._db:
            self._db.execute(
                "INSERT INTO costs VALUES (?1, ?2, ?3) ON CONFLICT (phase) DO UPDATE SET"
                " wall_seconds = wall_seconds + ?2, core_seconds = core_seconds + ?3",
                (phase, wall_seconds, core_seconds),
            )

    def costs(self) -> dict[str, tuple[float, float]]:
        """Phase -> (wall seconds, core seconds), of all the times the run went on."""
        rows = self._db.execute("SELECT phase, wall_seconds, core_seconds FROM costs ORDER BY rowid")
        return {phase: (wall, core) for phase, wall, core in rows}
