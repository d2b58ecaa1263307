"""Attempts at the bugs of a run, the results of their audits, and the second-order bugs made from failed attempts.

An attempt is one row, keyed by bug, policy and number. The row is written when the grade is known: a kill loses at most
the running attempts, and none is counted twice. The diff lies in `attempts/<bug>/<policy>-<number>.diff`, which is
written before the row. A failed attempt is considered for promotion once; its row in `promotions` holds the result.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from selfplay.artifact import Artifact, Bug, save, save_bug
from selfplay.artifact.bug import is_bug_id
from selfplay.artifact.decoding import json_text, parse_json
from selfplay.artifact.files import write_atomically
from selfplay.artifact.reading import MIB, MissingError, UntrustedDataError, ensured_folder, read_below
from selfplay.curriculum.records import (
    REPEATED,
    Attempt,
    AttemptFigures,
    CurriculumError,
    Promotion,
    bug_of_row,
    plain_row,
    read_row,
)
from selfplay.curriculum.trust import seal, sealed
from selfplay.oracle.leak_audit.audit import Audit, AuditState
from selfplay.plain_text import decode, encode
from selfplay.sandbox.owners import remove

MOST_DIFF = 32 * MIB
ATTEMPT_FILE = "attempt.diff"
"""The file beside the five files of a second-order bug: the failed attempt that is part of it."""
_COLUMNS = "bug, policy, number, resolved, reason, detail, figures, version_first, version_last, trajectory"


def _searched(bug: Bug, state: str) -> bytes:
    """What an audit's seal is of: all that the searched world came from, and what was found."""
    attempt = bug.attempt.sha256 if bug.attempt else ""
    return encode(json.dumps([bug.id, bug.tree_hash, bug.content_hash, attempt, bug.environment, state]))


class Attempts:
    """The part of a pool that solvers write. One process writes at a time, in one thread."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self._folder = folder
        self._db = database

    # -- attempts ----------------------------------------------------------------------------------------------

    def add(self, attempt: Attempt) -> None:
        """Store a finished attempt; one that is already there is left as it is. Raises `CurriculumError` for a name
        that is no bug's: files are named after it."""
        refuse_no_bug(attempt.bug)
        key = (attempt.bug, attempt.policy, attempt.number)
        if self._db.execute("SELECT 1 FROM attempts WHERE (bug, policy, number) = (?, ?, ?)", key).fetchone():
            return
        path = self._diff(*key)
        ensured_folder(self._folder, "attempts", attempt.bug)
        write_atomically(path, encode(attempt.diff))
        row = (
            *key, attempt.resolved, attempt.reason, attempt.detail, attempt.figures.model_dump_json(),
            *attempt.versions, attempt.trajectory,
        )  # fmt: skip
        with self._db:
            self._db.execute(
                f"INSERT OR IGNORE INTO attempts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                plain_row(row),
            )

    def finished(self, policy: str) -> set[tuple[str, int]]:
        """(bug, number) of the attempts of `policy` that are stored."""
        return set(self._db.execute("SELECT bug, number FROM attempts WHERE policy = ?", (policy,)))

    def stored(self, policy: str, wanted: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """The stored ones among these (bug, number)."""
        found = "SELECT 1 FROM attempts WHERE (bug, policy, number) = (?, ?, ?)"
        return {(bug, number) for bug, number in wanted if self._db.execute(found, (bug, policy, number)).fetchone()}

    def newest(self, bug: str, policy: str) -> int:
        """The largest number of a stored attempt at a bug; -1 without one."""
        last = "SELECT MAX(number) FROM attempts WHERE (bug, policy) = (?, ?)"
        found = self._db.execute(last, (bug, policy)).fetchone()[0]
        return -1 if found is None else int(found)

    def some(self, policy: str, wanted: Iterable[tuple[str, int]]) -> list[Attempt]:
        """The stored attempts among these (bug, number), without their diffs."""
        one = "(bug, policy, number) = (?, ?, ?)"
        return [found for bug, number in wanted for found in self._select(one, (bug, policy, number), diffs=False)]

    def all(self, *, diffs: bool = True) -> Iterator[Attempt]:
        """Every attempt, by bug, policy and number. A diff is empty if its file is gone, or if `diffs` is False, which
        reads no files."""
        return self._select("1 = 1", (), diffs)

    def group(self, bug: str, policy: str) -> tuple[Attempt, ...]:
        """The attempts of one policy at one bug, by number: training compares them with each other."""
        return tuple(self._select("bug = ? AND policy = ?", (bug, policy)))

    def _select(self, where: str, values: tuple[str | int, ...], diffs: bool = True) -> Iterator[Attempt]:
        order = "ORDER BY bug, policy, number"
        for row in self._db.execute(f"SELECT {_COLUMNS} FROM attempts WHERE {where} {order}", values).fetchall():
            bug, policy, number, resolved, reason, detail, figures, first, last, trajectory = row
            diff = self.read_diff(bug, policy, number) if diffs else ""
            found = read_row(AttemptFigures, figures)
            name = trajectory or attempt_trajectory(bug, policy, number)
            yield Attempt(bug, policy, number, bool(resolved), reason, detail, diff, found, (first, last), name)

    def _diff(self, bug: str, policy: str, number: int) -> Path:
        return self._folder / "attempts" / bug / f"{file_name(policy)}-{number:03d}.diff"

    def read_diff(self, bug: str, policy: str, number: int) -> str:
        """The diff of an attempt; empty if its file is gone. Raises `CurriculumError` for a file that selfplay did not
        write."""
        path = self._diff(bug, policy, number)
        try:
            return decode(read_below(self._folder, str(path.relative_to(self._folder)), MOST_DIFF))
        except MissingError:
            return ""
        except UntrustedDataError as error:
            raise CurriculumError(error.message, error.hint) from error

    # -- audits ------------------------------------------------------------------------------------------------

    def audited(self, bugs: Iterable[Bug]) -> dict[str, AuditState]:
        """Bug -> the state of its world, for worlds that this user has searched, which a row's seal says. Others' rows
        are not believed: who shares a run could say of each that it is clean."""
        found, rows = {}, dict(self._db.execute("SELECT bug, findings FROM audits"))
        for bug in bugs:
            try:
                said = parse_json(encode(rows.get(bug.id, "{}")), f"the audit of {bug.id}")
                told = said if isinstance(said, dict) else {}
                state, mark = str(told.get("state")), str(told.get("seal"))
                if sealed(BytesIO(_searched(bug, state)), mark):
                    found[bug.id] = AuditState(state)
            except (UntrustedDataError, ValueError):
                continue  # a row that cannot be read says nothing: the world is searched again
        return found

    def record_audit(self, bug: Bug, audit: Audit) -> None:
        """Store what a search of the bug's world found, with this user's seal."""
        said = {"seal": seal(_searched(bug, audit.state.value)), **audit.to_json()}
        row = (bug.id, audit.clean, json_text(said))
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO audits VALUES (?, ?, ?)", row)

    # -- second-order bugs -------------------------------------------------------------------------------------

    def considered(self) -> set[tuple[str, str, int]]:
        """(parent, policy, number) of the attempts already considered for promotion."""
        return set(self._db.execute("SELECT parent, policy, number FROM promotions"))

    def children(self, parent: str) -> int:
        """How many second-order bugs `parent` has."""
        counted = "SELECT COUNT(*) FROM promotions WHERE parent = ? AND bug IS NOT NULL"
        return int(self._db.execute(counted, (parent,)).fetchone()[0])

    def trees(self) -> set[str]:
        """The trees of the second-order bugs."""
        return {row[0] for row in self._db.execute("SELECT tree_hash FROM promotions WHERE bug IS NOT NULL")}

    def promotions(self) -> list[Promotion]:
        """The result for every attempt considered, in a fixed order."""
        rows = self._db.execute(
            "SELECT parent, policy, number, status, tree_hash, bug FROM promotions ORDER BY parent, policy, number"
        )
        return [
            Promotion(parent, policy, number, status, tree_hash, bug_of_row(text) if text else None)
            for parent, policy, number, status, tree_hash, text in rows
        ]

    def roots(self) -> dict[str, str]:
        """Second-order bug -> the bug that was planted."""
        named = "json_extract(bug, '$.id'), json_extract(bug, '$.root')"
        valid = "bug IS NOT NULL AND json_valid(bug) ORDER BY parent, policy, number"
        rows = self._db.execute(f"SELECT {named} FROM promotions WHERE {valid}")
        return {str(bug): str(root or "") for bug, root in rows}

    def bugs(self) -> list[Bug]:
        """The second-order bugs."""
        return [promotion.bug for promotion in self.promotions() if promotion.bug]

    def add_promotion(self, promotion: Promotion, artifact: Artifact, diff: str) -> None:
        """Store the result of a promotion; a promoted bug's folder is complete before its row exists. If another
        attempt was promoted with the same tree meanwhile, this one is a duplicate."""
        if promotion.bug is not None and promotion.tree_hash in self.trees():
            promotion = replace(promotion, status=REPEATED, bug=None)
        if promotion.bug is not None:
            self._write(promotion.bug, artifact, diff)
        row = (
            promotion.parent, promotion.policy, promotion.number, promotion.status, promotion.tree_hash,
            promotion.bug.model_dump_json() if promotion.bug else None,
        )  # fmt: skip
        with self._db:
            self._db.execute("INSERT INTO promotions VALUES (?, ?, ?, ?, ?, ?)", plain_row(row))

    def _write(self, bug: Bug, artifact: Artifact, diff: str) -> None:
        staging, target = self._folder / "staging" / bug.id, self._folder / "bugs" / bug.id
        for folder in (staging, target):  # leftovers of a kill, without a row
            remove(folder)
        ensured_folder(self._folder, "staging")
        save(artifact, staging)
        (staging / ATTEMPT_FILE).write_bytes(encode(diff))
        save_bug(bug, staging)
        ensured_folder(self._folder, "bugs")
        staging.replace(target)


def file_name(policy: str) -> str:
    """A policy's name, made safe for file names. A changed name gets a part of its hash, so that no two policies share
    a file."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", policy).strip("-.")[:80]
    return plain if plain == policy else f"{plain or 'policy'}-{hashlib.sha256(encode(policy)).hexdigest()[:8]}"


def refuse_no_bug(name: str) -> None:
    """Raises `CurriculumError` for a text that is not a bug's name, before a file is named after it."""
    if not is_bug_id(name):
        raise CurriculumError(f"{name[:80]!r} is not a bug's name", "Nothing was stored.")


def attempt_trajectory(bug: str, policy: str, number: int) -> str:
    """The name of an attempt's file in `trajectories/`."""
    return f"{bug}-{file_name(policy)}-{number:03d}-solver.jsonl.zst"
