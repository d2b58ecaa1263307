"""Imported tasks in a pool: they have no episode; `Bug.imported` has their other facts."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfplay.artifact import Artifact, Bug, save, save_bug
from selfplay.artifact.reading import ensured_folder
from selfplay.curriculum.attempts import ATTEMPT_FILE
from selfplay.curriculum.records import bug_of_row, plain_row
from selfplay.plain_text import encode
from selfplay.sandbox.owners import remove


class Imports:
    """The part of a pool that imports write; only one process writes at a time."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self._folder = folder
        self._db = database

    def add(self, bug: Bug, artifact: Artifact, attempt: str | None = None) -> None:
        """Store a task: its folder is complete before its row exists. `attempt`: the failed attempt of a second-order
        task. Raises `ValueError` for a bug that was not imported."""
        if bug.imported is None:
            raise ValueError("only imported tasks have no episode")
        staging, target = self._folder / "staging" / bug.id, self._folder / "bugs" / bug.id
        for folder in (staging, target):  # what a kill left has no row
            remove(folder)
        ensured_folder(self._folder, "staging")
        save(artifact, staging)
        if attempt is not None:
            (staging / ATTEMPT_FILE).write_bytes(encode(attempt))
        save_bug(bug, staging)
        ensured_folder(self._folder, "bugs")
        staging.replace(target)
        with self._db:
            self._db.execute("INSERT INTO imported VALUES (?, ?)", plain_row((bug.id, bug.model_dump_json())))

    def orders(self) -> dict[str, int]:
        """Imported task -> its order."""
        order = "CAST(json_extract(bug, '$.order') AS INTEGER)"
        rows = self._db.execute(f"SELECT id, {order} FROM imported WHERE json_valid(bug) ORDER BY rowid")
        return {str(bug): order or 1 for bug, order in rows}

    def bugs(self) -> list[Bug]:
        """The imported tasks, in the order in which they came."""
        rows = self._db.execute("SELECT bug FROM imported ORDER BY rowid").fetchall()
        return [bug_of_row(text) for (text,) in rows]


def imported_row(bug: Bug, solved: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The row of a task in `summary.json`."""
    return {
        "id": bug.id,
        "order": bug.order,
        "source": bug.source,
        "form": bug.imported.form if bug.imported else "",
        "weakened": bool(bug.imported and bug.imported.weakened),
        "fail_to_pass": len(bug.fail_to_pass),
        "pass_to_pass": len(bug.pass_to_pass),
        "solved": solved,
    }
