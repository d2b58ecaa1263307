"""Who solved which bugs of a pool, how often, and how well that is assured."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from selfplay.curriculum.quality import solve_rates, spread
from selfplay.curriculum.records import Attempt
from selfplay.curriculum.store import Curriculum

Solves = dict[str, dict[str, int]]
"""Policy -> the numbers of its attempts at one bug and of the resolved ones."""


def solves(attempts: Iterable[Attempt]) -> dict[str, Solves]:
    """Bug -> how often each policy solved it."""
    found: dict[str, Solves] = {}
    for attempt in attempts:
        own = found.setdefault(attempt.bug, {}).setdefault(attempt.policy, {"resolved": 0, "attempts": 0})
        own["resolved"] += attempt.resolved
        own["attempts"] += 1
    return found


def solving(pool: Curriculum, every: Iterable[Attempt]) -> dict[str, Any]:
    """Policy -> its solve rates, for first-order and second-order bugs separately, and why attempts were not
    resolved."""
    every_bug = pool.bugs()
    known, children = {bug.id for bug in every_bug}, {bug.id for bug in every_bug if bug.order > 1}
    attempts = [attempt for attempt in every if attempt.bug in known]
    found: dict[str, Any] = {}
    for policy in sorted({attempt.policy for attempt in attempts}):
        own = [attempt for attempt in attempts if attempt.policy == policy]
        found[policy] = {
            "order_1": solve_rates(_counts(attempt for attempt in own if attempt.bug not in children)),
            "order_2": solve_rates(_counts(attempt for attempt in own if attempt.bug in children)),
            "reasons": dict(Counter(attempt.reason for attempt in own)),
            "assurance": dict(Counter(one.figures.assurance for one in own if one.figures.assurance)),
            "weak_layers": dict(Counter(one.partition(":")[0] for a in own for one in a.figures.weaknesses)),
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
