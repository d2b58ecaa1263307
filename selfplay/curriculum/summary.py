"""The figures of a run (`summary.json`), computed from the pool."""

import contextlib
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from selfplay.artifact import ArtifactError, Bug, load
from selfplay.artifact.files import write_atomically
from selfplay.curriculum.quality import shape, share, solve_rates, spread
from selfplay.curriculum.records import Attempt, EpisodeRecord
from selfplay.curriculum.store import Curriculum
from selfplay.plain import decode, regular_file


def summarise(pool: Curriculum) -> dict[str, Any]:
    """Counts, medians and one row per bug of either order, with its solves. `submitted`: episodes that submitted an
    artifact; `valid_share`: the share of those, without duplicates of earlier bugs, that passed every check."""
    episodes = pool.episodes.records()
    attempts = list(pool.attempts.all())
    solved = solves(attempts)
    bugs = [_row(found.bug, found, solved.get(found.bug.id, {})) for found in pool.episodes.with_bugs() if found.bug]
    submitted = [e for e in episodes if e.status in ("valid", "invalid", "duplicate")]
    judged = [e for e in submitted if e.status != "duplicate"]
    return {
        "bugs": bugs,
        "second_order_bugs": [_second_order_row(bug, solved.get(bug.id, {})) for bug in pool.attempts.bugs()],
        "figures": {
            "bugs": len(bugs),
            "by_strategy": dict(Counter(bug["strategy"] for bug in bugs)),
            "episodes": len(episodes),
            "submitted": len(submitted),
            "valid_share": round(len(bugs) / len(judged), 3) if judged else None,
            "statuses": dict(Counter(e.status for e in episodes)),
            "failed_checks": dict(Counter(e.failed_check for e in episodes if e.failed_check)),
            "median_changed_lines": _median([bug["changed_lines"] for bug in bugs]),
            "median_fail_to_pass": _median([bug["fail_to_pass"] for bug in bugs]),
            "files_touched": len({path for bug in bugs for path in bug["files"]}),
            "finishes": dict(Counter(e.figures.finish for e in episodes if e.figures.finish)),
            "malformed_calls": sum(e.figures.malformed for e in episodes),
            "usage": _usage(e.figures.usage for e in episodes),
            "validation_suite_runs": sum(e.figures.suite_runs for e in episodes),
        },
        "quality": _quality(pool, submitted),
        "solving": _solving(pool, attempts),
    }


def _usage(used: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The summed cost of the model's answers; empty where no model played."""
    total: Counter[str] = Counter()
    for one in used:
        total.update(one)
    return {name: value for name, value in total.items() if value}


def _quality(pool: Curriculum, submitted: list[EpisodeRecord]) -> dict[str, Any]:
    """The figures about the bugs that need no solver."""
    bugs, children = pool.episodes.bugs(), pool.attempts.bugs()
    tests = sum(len(bug.fail_to_pass) + len(bug.pass_to_pass) + len(bug.flaky) for bug in bugs)
    return {
        **shape(_diffs(pool, bugs), lambda path: _original(pool, path)),
        "hidden_share": spread([round(len(bug.hidden) / len(bug.fail_to_pass), 4) for bug in bugs]),
        "duplicate_rate": share(sum(e.status == "duplicate" for e in submitted), len(submitted)),
        "fail_to_pass": spread([len(bug.fail_to_pass) for bug in bugs]),
        "flaky_rate": share(sum(len(bug.flaky) for bug in bugs), tests),
        "leaking": sum(not clean for clean in pool.attempts.audited().values()),
        "audited": len(pool.attempts.audited()),
        "second_order": {
            "bugs": len(children),
            "fail_to_pass": spread([len(bug.fail_to_pass) for bug in children]),
            "statuses": dict(Counter(promotion.status.partition(":")[0] for promotion in pool.attempts.promotions())),
        },
    }


def _diffs(pool: Curriculum, bugs: list[Bug]) -> dict[str, str]:
    """Bug -> its diff, for the bugs whose files are whole."""
    found = {}
    for bug in bugs:
        with contextlib.suppress(ArtifactError):
            found[bug.id] = load(pool.folder / "bugs" / bug.id).bug_inject
    return found


def _original(pool: Curriculum, path: str) -> str | None:
    """The text of a file of the run's original."""
    file = regular_file(pool.folder / "original", path)
    return decode(file.read_bytes()) if file else None


Solves = dict[str, dict[str, int]]
"""Policy -> the number of its attempts at one bug, and of those that are resolved."""


def solves(attempts: Iterable[Attempt]) -> dict[str, Solves]:
    """Bug -> how often each policy solved it."""
    found: dict[str, Solves] = {}
    for attempt in attempts:
        own = found.setdefault(attempt.bug, {}).setdefault(attempt.policy, {"resolved": 0, "attempts": 0})
        own["resolved"] += attempt.resolved
        own["attempts"] += 1
    return found


def _solving(pool: Curriculum, every: Iterable[Attempt]) -> dict[str, Any]:
    """Policy -> its solve rates, for first-order and second-order bugs separately, and why attempts were not
    resolved."""
    children = {bug.id for bug in pool.attempts.bugs()}
    known = {bug.id for bug in pool.bugs()}
    attempts = [attempt for attempt in every if attempt.bug in known]
    found: dict[str, Any] = {}
    for policy in sorted({attempt.policy for attempt in attempts}):
        own = [attempt for attempt in attempts if attempt.policy == policy]
        found[policy] = {
            "order_1": solve_rates(_counts(attempt for attempt in own if attempt.bug not in children)),
            "order_2": solve_rates(_counts(attempt for attempt in own if attempt.bug in children)),
            "reasons": dict(Counter(attempt.reason for attempt in own)),
            "seconds": spread([round(attempt.figures.seconds, 2) for attempt in own]),
        }
    return found


def _counts(attempts: Iterable[Attempt]) -> dict[str, tuple[int, int]]:
    """Bug -> (resolved, attempts)."""
    found: dict[str, tuple[int, int]] = {}
    for attempt in attempts:
        solved, count = found.get(attempt.bug, (0, 0))
        found[attempt.bug] = (solved + attempt.resolved, count + 1)
    return found


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
    write_atomically(folder / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())


def read_summary(folder: Path) -> dict[str, Any]:
    """What `write_summary` wrote; empty when the file is missing (a run that was killed) or cannot be read."""
    try:
        found = json.loads((folder / "summary.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
