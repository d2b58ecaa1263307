"""The figures of a run (`summary.json`), computed from the pool."""

import json
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from selfplay.artifact.files import write_atomically
from selfplay.curriculum.store import Curriculum


def summarise(pool: Curriculum) -> dict[str, Any]:
    """Counts, medians and one row per bug. `submitted`: episodes that handed in an artifact;
    `valid_share`: of those, duplicates of earlier bugs aside, how many passed every check."""
    episodes = pool.episodes()
    by_number = {episode["number"]: episode for episode in episodes}
    bugs = [_row(bug, by_number[number]) for bug, number in pool.bugs_with_episodes()]
    submitted = [e for e in episodes if e["status"] in ("valid", "invalid", "duplicate")]
    judged = [e for e in submitted if e["status"] != "duplicate"]
    return {
        "bugs": bugs,
        "figures": {
            "bugs": len(bugs),
            "by_strategy": dict(Counter(bug["strategy"] for bug in bugs)),
            "episodes": len(episodes),
            "submitted": len(submitted),
            "valid_share": round(len(bugs) / len(judged), 3) if judged else None,
            "statuses": dict(Counter(e["status"] for e in episodes)),
            "failed_checks": dict(Counter(e["failed_check"] for e in episodes if e["failed_check"])),
            "median_changed_lines": _median([bug["changed_lines"] for bug in bugs]),
            "median_fail_to_pass": _median([bug["fail_to_pass"] for bug in bugs]),
            "files_touched": len({path for bug in bugs for path in bug["files"]}),
            "one_line_bugs": sum(bug["changed_lines"] <= 2 for bug in bugs),
            "finishes": dict(Counter(e["figures"]["finish"] for e in episodes if "finish" in e["figures"])),
            "malformed_calls": sum(e["figures"].get("malformed", 0) for e in episodes),
            "usage": _usage(e["figures"].get("usage", {}) for e in episodes),
            "validation_suite_runs": sum(e["figures"].get("suite_runs", 0) for e in episodes),
        },
    }


def _usage(used: Iterable[dict[str, float]]) -> dict[str, float]:
    """What the model's answers cost together; nothing where no model played."""
    total: Counter[str] = Counter()
    for one in used:
        total.update(one)
    return {name: value for name, value in total.items() if value}


def _row(bug: Any, episode: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": bug.id,
        "episode": episode["number"],
        "strategy": bug.strategy,
        "files": episode["figures"]["files"],
        "changed_lines": episode["figures"]["changed_lines"],
        "fail_to_pass": len(bug.fail_to_pass),
        "pass_to_pass": len(bug.pass_to_pass),
        "seconds": episode["figures"]["seconds"],
    }


def _median(values: list[int]) -> float | None:
    return statistics.median(values) if values else None


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Write `summary.json`, atomically."""
    write_atomically(folder / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
