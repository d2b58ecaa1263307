"""The pool of bugs of one run: SQLite in WAL mode beside the bugs' folders, safe against a kill at any moment.

It holds bugs of any number of repositories, the episodes that produced them, attempts by any number of policies and
policy versions, and the cost of the run. One process writes; any number read meanwhile (`open_pool.py`).
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from selfplay.artifact import Bug
from selfplay.artifact.decoding import json_text, parse_json
from selfplay.artifact.reading import UntrustedDataError
from selfplay.curriculum.attempts import Attempts
from selfplay.curriculum.episodes import Episodes
from selfplay.curriculum.imports import Imports
from selfplay.curriculum.lost import Lost
from selfplay.curriculum.records import DAMAGED, CurriculumError, OtherSettings
from selfplay.formatting import difference

T = TypeVar("T")
BEFORE: Mapping[str, Any] = {"group": 1}
"""Settings that early versions did not record -> their value then."""

PLANNED = "attempts planned for each bug"
"""The name of the setting with that number, after the name under which the attempts are filed."""
ROLES = "roles"
"""The suffix, after a policy's name, of the setting that is `separate` if each role has its own weights."""


class Curriculum:
    """The pool in `folder`: its `episodes` with their bugs, the `imports`, the `attempts` at all of them, and the
    settings that fix both."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self.folder = folder
        self._db = database
        self.episodes = Episodes(folder, database)
        self.imports = Imports(folder, database)
        self.attempts = Attempts(folder, database)
        self.lost = Lost(database)

    def bugs(self) -> list[Bug]:
        """All bugs: first those of first order, in the order in which they were taken, then those of second order, with
        imported tasks between them."""
        return [*self.episodes.bugs(), *self.imports.bugs(), *self.attempts.bugs()]

    def orders(self) -> dict[str, int]:
        """Bug -> its order, in the order of `bugs`. Reads no bug."""
        first = dict.fromkeys(self.episodes.gave().values(), 1)
        return {**first, **self.imports.orders(), **dict.fromkeys(self.attempts.roots(), 2)}

    def some_bugs(self, names: Collection[str]) -> list[Bug]:
        """The bugs of these names in the pool, in the order of `bugs`. If all are of first order, no other bug is
        read."""
        found = {name: bug for name in names if (bug := self.episodes.bug(name))}
        if len(found) < len(names):
            found |= {bug.id: bug for bug in (*self.imports.bugs(), *self.attempts.bugs()) if bug.id in names}
        return [found[name] for name in self.orders() if name in found]

    # -- the run's settings ------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """The settings that `settle` recorded."""
        try:
            rows = self._db.execute("SELECT key, value FROM run").fetchall()
            return {key: parse_json(value.encode(), f"the setting {key[:80]!r}") for key, value in rows}
        except (UntrustedDataError, UnicodeEncodeError) as error:
            raise CurriculumError(f"a setting of {self.folder} is damaged: {error}", DAMAGED) from error

    def setting(self, name: str, kind: type[T], default: T) -> T:
        """A setting of type `kind`. Raises `CurriculumError` for a value of another type."""
        found = self.settings().get(name)
        if found is not None and type(found) is not kind:
            raise CurriculumError(f"the setting {name} of {self.folder} is not of type {kind.__name__}", DAMAGED)
        return default if found is None else found

    def repository_setting(self, repository: str, name: str, kind: type[T], default: T) -> T:
        """A setting that `settle_repository` recorded."""
        return self.setting(f"{self._of(repository)}{name}", kind, default)

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Record the settings that fix a run's bugs, or check that they equal the recorded ones.

        They bind once an episode is stored: before that, a mistyped source or a missing `--test` can be corrected. A
        setting that an earlier version did not record has its value in `BEFORE`. Raises `CurriculumError` naming the
        first difference.
        """
        hint = "Resume with the same settings, or give another --out."
        self._settle(settings, {**BEFORE, **self.settings()} if self.episodes.any_stored() else {}, hint)

    def settle_repository(self, name: str, settings: Mapping[str, Any]) -> None:
        """Like `settle`, for the settings of one repository: they bind once an episode of it is stored."""
        named = {f"{self._of(name)}{key}": value for key, value in settings.items()}
        hint = "Resume with the same settings, or give another --out."
        self._settle(named, {**BEFORE, **self.settings()} if self.episodes.finished(name) else {}, hint)

    def _of(self, repository: str) -> str:
        """The prefix of a repository's settings: empty in a run that was begun for it alone."""
        return "" if self.settings().get("source") == repository else f"repository {repository}: "

    def settle_attempts(self, name: str, settings: Mapping[str, Any]) -> None:
        """Like `settle`, for the settings of the attempts filed under `name`: they bind once an attempt is stored.
        Attempts without a recorded `policy` (from an earlier version) belong to the policy of that name."""
        named = {f"{name}: {key}": value for key, value in settings.items()}
        hint = "Use the same policy and options; `selfplay solve --name NAME` files attempts of another under a name."
        known = {f"{name}: policy": name, **self.settings()}
        self._settle(named, known if self.attempts.finished(name) else {}, hint)

    def plan_attempts(self, name: str, attempts: int) -> None:
        """Record how many attempts filed under `name` are planned for each bug, so that credit knows which bugs an
        interrupted run has not attempted often enough. It does not bind; the newest value counts."""
        self._settle({f"{name}: {PLANNED}": attempts}, {}, "")

    def _settle(self, settings: Mapping[str, Any], bound: Mapping[str, Any], hint: str) -> None:
        for key, value in settings.items():
            if key in bound and bound[key] != _as_recorded(value, bound[key]):
                was, wanted = difference(bound[key], value)
                raise OtherSettings(f"{self.folder} was made with {key} = {was}, not {wanted}", hint)
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO run VALUES (?, ?)", [(key, json_text(v)) for key, v in settings.items()]
            )

    # -- its repositories --------------------------------------------------------------------------------------

    def add_repositories(self, names: Iterable[str]) -> None:
        """Add repositories to the pool; the order names their folders. Known ones keep their places."""
        with self._db:
            self._db.executemany("INSERT OR IGNORE INTO repositories VALUES (?, '{}')", [(name,) for name in names])

    def record_repository(self, name: str, facts: Mapping[str, Any]) -> None:
        """Add facts about a repository of this pool to its stored ones: revision, language, result."""
        facts = {**self.repositories().get(name, {}), **facts}
        with self._db:
            self._db.execute(
                "INSERT INTO repositories VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET facts = ?2",
                (name, json_text(facts)),
            )

    def homes(self) -> dict[str, str]:
        """Bug -> the repository that it was planted in."""
        first = self.episodes.homes()
        return {**first, **{bug: first.get(root, "") for bug, root in self.attempts.roots().items()}}

    def repositories(self) -> dict[str, dict[str, Any]]:
        """Name -> its facts, in the order in which the repositories were added."""
        rows = self._db.execute("SELECT name, facts FROM repositories ORDER BY rowid")
        try:
            return {name: _facts(text) for name, text in rows.fetchall()}
        except (UntrustedDataError, UnicodeEncodeError) as error:
            raise CurriculumError(f"a repository of {self.folder} is damaged: {error}", DAMAGED) from error

    # -- what it cost ------------------------------------------------------------------------------------------

    def add_cost(self, phase: str, wall_seconds: float, core_seconds: float) -> None:
        """Add to the cost of a phase, which is summed over all resumptions."""
        with self._db:
            self._db.execute(
                "INSERT INTO costs VALUES (?1, ?2, ?3) ON CONFLICT (phase) DO UPDATE SET"
                " wall_seconds = wall_seconds + ?2, core_seconds = core_seconds + ?3",
                (phase, wall_seconds, core_seconds),
            )

    def costs(self) -> dict[str, tuple[float, float]]:
        """Phase -> (wall seconds, core seconds), summed over all resumptions of the run."""
        rows = self._db.execute("SELECT phase, wall_seconds, core_seconds FROM costs ORDER BY rowid")
        return {phase: (wall, core) for phase, wall, core in rows}


def _as_recorded(value: Any, recorded: Any) -> Any:
    """A setting reduced to the recorded fields, for one that an earlier version recorded with fewer."""
    if isinstance(value, dict) and isinstance(recorded, dict):
        return {name: value.get(name) for name in recorded}
    return value


def _facts(text: str) -> dict[str, Any]:
    found = parse_json(text.encode(), "the facts of a repository")
    if not isinstance(found, dict):
        raise UntrustedDataError("its facts are no object")
    return found
