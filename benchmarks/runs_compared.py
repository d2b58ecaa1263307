"""What two runs must have in common, byte for byte: bugs, episodes, attempts, without wall times."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from selfplay.curriculum import read_pool

State = dict[str, Any]


def state(run: Path) -> State:
    """What is compared of a run's folder."""
    with read_pool(run) as pool:
        episodes = [
            [one.number, one.strategy, one.status, timeless(one.reason), one.group, one.policy, one.failed_check]
            for one in pool.episodes.records()
        ]
        attempts = [
            [one.bug, one.policy, one.number, one.resolved, one.reason, timeless(one.detail), one.diff]
            for one in pool.attempts.all()
        ]
        bugs = [bug.id for bug in pool.bugs()]
    files = {
        path.relative_to(run).as_posix(): digest(path)
        for path in sorted((run / "bugs").rglob("*"))
        if path.is_file() and path.name != "calibration.json"
    }
    left = sorted(path.name for path in run.iterdir() if path.name.startswith("."))
    return {"episodes": episodes, "attempts": attempts, "bugs": bugs, "files": files, "left": left}


def digest(path: Path) -> str:
    """SHA-256 of a bug's file, without wall times."""
    data = path.read_bytes()
    if path.name == "bug.json":
        value = json.loads(data)
        for verdict in value["verdicts"]:
            verdict.update(seconds=0, runs=0, reason=timeless(verdict["reason"]))
        data = json.dumps(value).encode()
    return hashlib.sha256(data).hexdigest()


def timeless(text: str) -> str:
    """A sentence without the seconds it mentions."""
    return re.sub(r"[\d.]+ s\b", "some s", text)


def difference(wanted: State, found: State) -> str:
    """The first thing that is different; empty for equal states."""
    for name, value in wanted.items():
        if value != (other := found[name]):
            if isinstance(value, dict):
                return f"{name}: {sorted(path for path in value | other if value.get(path) != other.get(path))}"
            only = [[one for one in a if one not in b] for a, b in ((value, other), (other, value))]
            return f"{name}: {_row(*(side[0] if side else 'nothing' for side in only))}; {len(only[0])} such rows"
    return ""


def _row(wanted: Any, found: Any) -> str:
    """One row that became another: its first columns, and those that differ."""
    if not (isinstance(wanted, list) and isinstance(found, list)):
        return f"{wanted} became {found}"
    differ = "; ".join(f"{a!r} became {b!r}" for a, b in zip(wanted, found, strict=True) if a != b)
    return f"of {wanted[:3]}: {differ}"
