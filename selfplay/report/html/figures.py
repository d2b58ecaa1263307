"""The figures of a run's overview: yield by strategy and by check, solve rates, cost and time."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selfplay.believable import NAME
from selfplay.curriculum import Attempt, EpisodeRecord, Promotion
from selfplay.report.html.diffs import clean
from selfplay.rollout.controls import CONTROLS
from selfplay.validators import CHECKS

ENDS = ("valid", "duplicate", "invalid", "gave_up", "failed", "unplayed")
GATES = (*CHECKS, NAME)
"""The checks of a submitted artifact, in order."""
BINS = ("none", "up to 1/4", "up to 1/2", "up to 3/4", "below all", "all")
"""Bins of a bug's solve rate."""
MOST_NAMES = 30


def yields(records: Iterable[EpisodeRecord]) -> dict[str, dict[str, int]]:
    """Strategy -> how its episodes ended."""
    found: dict[str, Counter[str]] = {}
    for record in records:
        found.setdefault(clean(record.strategy), Counter())[record.status] += 1
    return {name: {end: ends[end] for end in ENDS if ends[end]} for name, ends in [*sorted(found.items())][:MOST_NAMES]}


def checks(records: Sequence[EpisodeRecord]) -> list[dict[str, Any]]:
    """For each check, and then the gate, in order: how many artifacts reached it, how many failed it, and its mean
    seconds and suite runs over artifacts that passed all."""
    failed = Counter(record.failed_check for record in records if record.status == "invalid")
    passed = [record.bug for record in records if record.status in ("valid", "duplicate") and record.bug]
    took: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for bug in passed:
        for verdict in bug.verdicts:
            took[str(verdict.get("check"))] += _amount(verdict.get("seconds"))
            ran[str(verdict.get("check"))] += _amount(verdict.get("runs"))
    left = sum(failed[name] for name in GATES) + sum(r.status in ("valid", "duplicate") for r in records)
    found = []
    for name in GATES:
        means = {"seconds": took[name] / len(passed), "runs": ran[name] / len(passed)} if passed else {}
        found.append({"check": name, "entered": left, "failed": failed[name],
                      **{key: round(value, 3) for key, value in means.items()}})  # fmt: skip
        left -= failed[name]
    return found


def _amount(value: object) -> Any:
    return value if isinstance(value, int | float) and 0 <= value < 1e9 else 0


def solve_rates(attempts: Iterable[Attempt], orders: Mapping[str, int]) -> list[dict[str, Any]]:
    """Policy and order -> bugs by the share of attempts that solved them, and the mean of these shares."""
    counted: dict[tuple[str, int], dict[str, list[int]]] = {}
    for attempt in attempts:
        if attempt.bug in orders:
            own = counted.setdefault((attempt.policy, orders[attempt.bug]), {}).setdefault(attempt.bug, [0, 0])
            own[0] += attempt.resolved
            own[1] += 1
    found = []
    for (policy, order), bugs in sorted(counted.items())[:MOST_NAMES]:
        shares = [resolved / tried for resolved, tried in bugs.values()]
        found.append({
            "policy": clean(policy), "order": order, "bugs": len(bugs), "control": policy in CONTROLS,
            "attempts": sum(tried for _, tried in bugs.values()),
            "resolved": sum(resolved for resolved, _ in bugs.values()),
            "mean": round(statistics.fmean(shares), 4), "bins": binned(shares),
        })  # fmt: skip
    return found


def binned(shares: Iterable[float]) -> list[int]:
    """How many of the shares are in each of `BINS`."""
    found = [0] * len(BINS)
    for share in shares:
        found[5 if share >= 1 else 0 if share <= 0 else 1 + sum(share > edge for edge in (0.25, 0.5, 0.75))] += 1
    return found


def reasons(attempts: Iterable[Attempt]) -> dict[str, int]:
    """Why attempts (without controls) were not resolved, the most frequent reason first."""
    found = Counter(clean(one.reason) for one in attempts if not one.resolved and one.policy not in CONTROLS)
    return dict(found.most_common(MOST_NAMES))


def promoted(promotions: Iterable[Promotion]) -> dict[str, int]:
    """The results of considering failed attempts for promotion."""
    return dict(Counter(clean(one.status.partition(":")[0]) for one in promotions).most_common(MOST_NAMES))


def usage(records: Iterable[EpisodeRecord], attempts: Iterable[Attempt]) -> dict[str, float]:
    """The summed cost of all answers of models; empty if no model played."""
    total: Counter[str] = Counter()
    for used in (*(one.figures.usage for one in records), *(one.figures.usage for one in attempts)):
        total.update({name: value for name, value in used.items() if name in _USED})
    return {name: round(value, 4) for name, value in total.items() if value}


_USED = ("requests", "prompt_tokens", "completion_tokens", "cost")


def totals(records: Sequence[EpisodeRecord], attempts: Sequence[Attempt], second: int) -> dict[str, Any]:
    """The figures at the head of the page."""
    valid = [record for record in records if record.status == "valid"]
    judged = [record for record in records if record.status in ("valid", "invalid")]
    own = [attempt for attempt in attempts if attempt.policy not in CONTROLS]
    solved = {attempt.bug for attempt in own if attempt.resolved}
    return {
        "bugs": len(valid), "second_order": second, "episodes": len(records), "judged": len(judged),
        "attempts": len(own), "resolved": sum(one.resolved for one in own),
        "attempted": len({one.bug for one in own}), "solved_once": len(solved),
        "median_lines": _median([one.figures.changed_lines for one in valid]),
        "median_seconds": _median([round(one.figures.seconds, 1) for one in valid]),
        "median_failing": _median([len(one.bug.fail_to_pass) for one in valid if one.bug]),
        "suite_runs": sum(one.figures.suite_runs for one in records),
        "files": len({path for one in valid for path in one.figures.files}),
    }  # fmt: skip


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
