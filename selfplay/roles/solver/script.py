"""The solver without a model: test-guided search for a repair, through the same loop and tools as any solver.

It restores the tests the specification names, looks which fail and what they run, proposes repairs, tries them in
forks of one pytest process, and hands in the first that turns every failing test green and no other one red; failing
that, its best try. Attempts on one bug differ by what they expect most of.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from selfplay.policies import Script, ScriptedPolicy
from selfplay.roles.solver import console
from selfplay.roles.solver.console import Tried
from selfplay.roles.solver.evidence import Evidence, evidence_from
from selfplay.roles.solver.expressions import expression_repairs
from selfplay.roles.solver.guards import guard_repairs
from selfplay.roles.solver.repair import Repair, changes, distinct, order
from selfplay.roles.solver.task import SolverTask
from selfplay.roles.talk import Stuck, Talk

MOST_PLACES = 25
MOST_TRIED = 600
SECONDS = 9.0
"""Of trying, per round."""
PAIRED = 6
"""Partial repairs that are tried together with others."""


def scripted_solver(task: SolverTask) -> ScriptedPolicy:
    """The policy for one attempt that really tries."""
    return ScriptedPolicy("scripted-search", _script(task))


def _script(task: SolverTask) -> Script:
    try:
        yield from _Attempt(task).play()
    except Stuck:
        yield from console.start_over()


@dataclass(frozen=True)
class Emphasis:
    """What an attempt expects: factors on kinds of repairs, and how much chance mixes the order (0 not at all)."""

    factors: dict[str, float]
    chance: float

    def applied(self, repair: Repair, rng: random.Random) -> Repair:
        factor = self.factors.get(repair.kind, 1.0) * rng.uniform(1 - self.chance, 1 + self.chance)
        return replace(repair, weight=repair.weight * factor)


EMPHASES = (
    Emphasis({}, 0.1),
    Emphasis({"insertion": 2.0, "transplant": 2.0}, 0.4),
    Emphasis({"guard": 2.0, "return": 2.0}, 0.5),
    Emphasis({}, 0.8),
)


class _Attempt:
    def __init__(self, task: SolverTask) -> None:
        self.task = task
        self.rng = random.Random(f"solver:{task.seed}:{task.bug}:{task.number}")
        self.emphasis = EMPHASES[task.number % len(EMPHASES)]

    def play(self) -> Talk[None]:
        shown = yield from console.prepare(self.task.specification)
        if not shown:
            raise Stuck("the specification holds no Python tests")
        report = yield from console.look(shown)
        paths = yield from console.python_files()
        texts = yield from console.read_sources(paths)
        evidence = evidence_from(report, texts, self.task.specification)
        if not evidence.failing:
            raise Stuck("no test fails")
        self.files = console.test_files(paths, shown)
        chosen = yield from self._search(evidence)
        if chosen is None:
            raise Stuck("there is nothing to try")
        yield from console.hand_in(changes(chosen, evidence.texts) or ())

    def _search(self, evidence: Evidence) -> Talk[Repair | None]:
        """The first clean repair; else the one that turns most failing tests green."""
        pool = self._ordered(evidence, proposed(evidence))
        tried = yield from self._try(evidence, pool)
        pairs = list(_pairs(tried))
        if pairs and not _clean(tried):
            tried += yield from self._try(evidence, pairs)
        return _clean(tried) or self._best(tried, pool)

    def _ordered(self, evidence: Evidence, repairs: Sequence[Repair]) -> list[Repair]:
        weighed = [self.emphasis.applied(repair, self.rng) for repair in distinct(repairs)]
        found = []
        for repair in order(weighed):
            if len(found) == MOST_TRIED:
                break
            if changes(repair, evidence.texts):
                found.append(repair)
        return found

    def _try(self, evidence: Evidence, repairs: Sequence[Repair]) -> Talk[list[Tried]]:
        if not repairs:
            return []
        each = 1.0 + 4 * sum(test.seconds for test in evidence.failing)
        ids = [test.id for test in evidence.failing]
        return (yield from console.try_out(repairs, ids, self.files, seconds=SECONDS, each=min(each, 8.0)))

    def _best(self, tried: Sequence[Tried], pool: Sequence[Repair]) -> Repair | None:
        """The most hopeful of what did not work, a different one for different attempts."""
        ran = [one for one in tried if one.state == "ran"]
        if not ran:
            return pool[0] if pool else None
        most = max(len(one.passed) for one in ran)
        best = [one for one in ran if len(one.passed) == most]
        return self.rng.choice(best[:8]).repair


def proposed(evidence: Evidence) -> list[Repair]:
    """Everything every idea proposes for the most suspicious functions."""
    found: list[Repair] = []
    for place in evidence.places[:MOST_PLACES]:
        found += expression_repairs(evidence, place)
        found += guard_repairs(evidence, place)
    return found


def _clean(tried: Sequence[Tried]) -> Repair | None:
    return next((one.repair for one in tried if one.clean), None)


def _pairs(tried: Sequence[Tried]) -> Iterator[Repair]:
    """The best partial repairs joined with each other and with what ran after them."""
    partial = sorted((one for one in tried if one.passed), key=lambda one: -len(one.passed))
    hopeful = [one for one in tried if one.state == "ran"][:80]
    for one in partial[:PAIRED]:
        for other in [*partial, *hopeful]:
            joined = one.repair.joined(other.repair) if set(other.passed) != set(one.passed) else None
            if joined:
                yield joined
