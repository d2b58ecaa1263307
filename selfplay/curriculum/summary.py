"""The figures of a run (`summary.json`), computed from the pool."""

import contextlib
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from selfplay.artifact import ArtifactError, Bug, load
from selfplay.artifact.decoding import parse_json, typed
from selfplay.artifact.files import write_atomically
from selfplay.artifact.reading import MIB, MissingError, UntrustedDataError, existing_folder, read_below
from selfplay.curriculum.ends import common_reasons
from selfplay.curriculum.imports import imported_row
from selfplay.curriculum.quality import shape, share, spread
from selfplay.curriculum.records import CurriculumError, EpisodeRecord
from selfplay.curriculum.repositories import repository_rows
from selfplay.curriculum.solving import Solves, solves, solving
from selfplay.curriculum.store import Curriculum
from selfplay.oracle.leak_audit.audit import AuditState
from selfplay.plain_text import decode

SUMMARY = "summary.json"
MOST_SUMMARY, MOST_SOURCE = 16 * MIB, 400_000
"""Bytes of a summary, and of a source whose functions are counted: a syntax tree takes two hundred times as much."""
MOST_LINES, MOST_SIZE = 400_000, 64 << 20
"""Lines and bytes of all diffs together: comparing them keeps some two hundred bytes a line."""


class StoredSuite(BaseModel):
    """The shown part of the suite in `summary.json`."""

    model_config = ConfigDict(extra="allow", strict=True)

    tests: int
    files: int
    wall_seconds: float
    failing_at_head: list[str]
    flaky_at_head: list[str]
    left_out_files: list[str]


class StoredSummary(BaseModel):
    """The shown part of `summary.json` that is not computed from the pool."""

    model_config = ConfigDict(extra="allow", strict=True)

    suite: StoredSuite | None = None
    wanted: int = 0
    stopped: str = ""
    notes: list[str] = Field(default_factory=list)
    cost: dict[str, dict[str, float] | float | None] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _whole(self) -> "StoredSummary":
        if self.suite is not None and not {"wanted", "notes"} <= self.model_fields_set:
            raise ValueError("a suite without wanted and notes")
        if any("wall_seconds" not in lap for lap in self.cost.values() if isinstance(lap, dict)):
            raise ValueError("a cost without wall_seconds")
        return self


def summarise(pool: Curriculum) -> dict[str, Any]:
    """Counts, medians and one row per bug of either order, with its solves. `submitted`: episodes that submitted an
    artifact; `valid_share`: the share of those, without duplicates of earlier bugs, that passed every check."""
    episodes = pool.episodes.records()
    attempts = list(pool.attempts.all(diffs=False))
    solved = solves(attempts)
    bugs = [_row(found.bug, found, solved.get(found.bug.id, {})) for found in pool.episodes.with_bugs() if found.bug]
    submitted = [e for e in episodes if e.status in ("valid", "invalid", "duplicate")]
    judged = [e for e in submitted if e.status != "duplicate"]
    return {
        "bugs": bugs,
        "repositories": repository_rows(pool, episodes),
        "second_order_bugs": [_second_order_row(bug, solved.get(bug.id, {})) for bug in pool.attempts.bugs()],
        "imported": [imported_row(bug, solved.get(bug.id, {})) for bug in pool.imports.bugs()],
        "figures": {
            "bugs": len(bugs),
            "by_strategy": dict(Counter(bug["strategy"] for bug in bugs)),
            "episodes": len(episodes),
            "submitted": len(submitted),
            "valid_share": round(len(bugs) / len(judged), 3) if judged else None,
            "statuses": dict(Counter(e.status for e in episodes)),
            "reasons": common_reasons(episodes),
            "failed_checks": dict(Counter(e.failed_check for e in episodes if e.failed_check)),
            "median_changed_lines": _median([bug["changed_lines"] for bug in bugs]),
            "median_fail_to_pass": _median([bug["fail_to_pass"] for bug in bugs]),
            "files_touched": len({path for bug in bugs for path in bug["files"]}),
            "finishes": dict(Counter(e.figures.finish for e in episodes if e.figures.finish)),
            "malformed_calls": sum(e.figures.malformed for e in episodes),
            "usage": _usage(e.figures.usage for e in episodes),
            "validation_suite_runs": sum(e.figures.suite_runs for e in episodes),
            "played_again": pool.lost.played_again(),
            "unplayed": pool.lost.unplayed(),
        },
        "quality": _quality(pool, submitted),
        "solving": solving(pool, attempts),
    }


def _usage(used: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The summed cost of the model's answers; empty if no model played."""
    total: Counter[str] = Counter()
    for one in used:
        total.update(one)
    return {name: value for name, value in total.items() if value}


def _quality(pool: Curriculum, submitted: list[EpisodeRecord]) -> dict[str, Any]:
    """The figures about the bugs that need no solver."""
    bugs, children = pool.episodes.bugs(), pool.attempts.bugs()
    audited = pool.attempts.audited([*bugs, *children])
    tests = sum(len(bug.fail_to_pass) + len(bug.pass_to_pass) + len(bug.flaky) for bug in bugs)
    return {
        **diversity(pool),
        "hidden_share": spread([round(len(bug.hidden) / len(bug.fail_to_pass), 4) for bug in bugs]),
        "duplicate_rate": share(sum(e.status == "duplicate" for e in submitted), len(submitted)),
        "fail_to_pass": spread([len(bug.fail_to_pass) for bug in bugs]),
        "flaky_rate": share(sum(len(bug.flaky) for bug in bugs), tests),
        "leaking": sum(state is AuditState.LEAKS for state in audited.values()),
        "not_auditable": sorted(bug for bug, state in audited.items() if state is AuditState.NOT_AUDITABLE),
        "audited": len(audited),
        "second_order": {
            "bugs": len(children),
            "fail_to_pass": spread([len(bug.fail_to_pass) for bug in children]),
            "statuses": dict(Counter(promotion.status.partition(":")[0] for promotion in pool.attempts.promotions())),
        },
    }


def diversity(pool: Curriculum) -> dict[str, Any]:
    """Size, similarity and spread of the first-order bugs (`quality.shape`)."""
    bugs, trees = pool.episodes.bugs(), pool.episodes.originals()
    homes = {bug.id: f"{trees[bug.tree_hash].name}/" for bug in bugs}
    return shape(_diffs(pool, bugs), lambda path: _original(pool, path), homes)


def _diffs(pool: Curriculum, bugs: list[Bug]) -> dict[str, str]:
    """Bug -> its diff, for the bugs whose files are whole. Raises `CurriculumError` for more than can be compared."""
    found, lines, size = {}, 0, 0
    for bug in bugs:
        with contextlib.suppress(ArtifactError, UntrustedDataError):
            if folder := existing_folder(pool.folder, "bugs", bug.id):
                found[bug.id] = diff = load(folder).bug_inject
                lines, size = lines + diff.count("\n"), size + sys.getsizeof(diff)
        if lines > MOST_LINES or size > MOST_SIZE:
            raise CurriculumError(f"the diffs of {pool.folder} are too long to compare", "Show its bugs.")
    return found


def _original(pool: Curriculum, path: str) -> str | None:
    """The text of a file of an original; None if it is missing or too long for a syntax tree."""
    try:
        return decode(read_below(pool.folder, path, MOST_SOURCE))
    except UntrustedDataError:
        return None


def _row(bug: Bug, episode: EpisodeRecord, solved: Solves) -> dict[str, Any]:
    return {
        "id": bug.id,
        "episode": episode.number,
        "strategy": bug.strategy,
        "files": list(episode.figures.files),
        "changed_lines": episode.figures.changed_lines,
        "fail_to_pass": len(bug.fail_to_pass),
        "pass_to_pass": len(bug.pass_to_pass),
        "seconds": episode.figures.seconds,
        "solved": solved,
    }


def _second_order_row(bug: Bug, solved: Solves) -> dict[str, Any]:
    return {
        "id": bug.id,
        "parent": bug.parent,
        "attempt": {"policy": bug.attempt.policy, "number": bug.attempt.number} if bug.attempt else None,
        "fail_to_pass": len(bug.fail_to_pass),
        "pass_to_pass": len(bug.pass_to_pass),
        "solved": solved,
    }


def _median(values: list[int]) -> float | None:
    return statistics.median(values) if values else None


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Write `summary.json`, atomically."""
    write_atomically(folder / SUMMARY, (json.dumps(summary, indent=2) + "\n").encode())


def read_summary(folder: Path) -> dict[str, Any]:
    """Reads `summary.json`; empty if the file is missing (a run that was killed).

    Raises `CurriculumError` for one that is damaged."""
    path = folder / SUMMARY
    try:
        value = parse_json(read_below(folder, SUMMARY, MOST_SUMMARY), str(path), halves=True)
        return typed(StoredSummary, value, str(path)).model_dump(mode="python", exclude_unset=True)
    except MissingError:
        return {}
    except UntrustedDataError as error:
        raise CurriculumError(error.message, "Delete it: what it says is computed again from the pool.") from error
