"""A run's losses: how many jobs were played again after a lost sandbox, and which could not be played at all. They are
stored in the pool, so that a resumed run continues counting and does not try the latter again."""

import sqlite3

from selfplay.artifact.decoding import json_text, parse_json
from selfplay.artifact.reading import UntrustedDataError
from selfplay.curriculum.records import DAMAGED, CurriculumError, plain_row

PLAYED_AGAIN = "jobs played again"
SET_ASIDE = "could not be played: "


class Lost:
    """The part of a pool that counts losses, as rows of the settings table, which every pool version has."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database

    def count_again(self, reason: object = None) -> None:
        """Count one more job that is played again."""
        with self._db:
            self._db.execute(
                "INSERT INTO run VALUES (?1, '1') ON CONFLICT (key) DO UPDATE SET value = value + 1", (PLAYED_AGAIN,)
            )

    def played_again(self) -> int:
        """How many jobs were played again, over all resumptions of the run."""
        row = self._db.execute("SELECT value FROM run WHERE key = ?", (PLAYED_AGAIN,)).fetchone()
        return int(row[0]) if row else 0

    def set_aside(self, job: str, why: str) -> None:
        """Remember that `job` could not be played, and why."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", plain_row((SET_ASIDE + job, json_text(why))))

    def unplayed(self) -> dict[str, str]:
        """Job -> why it could not be played."""
        rows = self._db.execute("SELECT key, value FROM run WHERE key GLOB ? ORDER BY rowid", (f"{SET_ASIDE}*",))
        try:
            return {key.removeprefix(SET_ASIDE): str(parse_json(value.encode(), "it")) for key, value in rows}
        except UntrustedDataError as error:
            raise CurriculumError(f"a row of the pool is damaged: why a job is set aside: {error}", DAMAGED) from error


def attempt_job_name(bug: str, policy: str, number: int) -> str:
    """The name of an attempt as a job."""
    return f"attempt {number} of {policy} at {bug}"
