"""The solver without a model: test-guided search for a repair, through the same loop and tools as any solver.

It restores the tests that the specification names, looks which fail and what they run, proposes repairs, tries them in
forks of one pytest process, and submits the first that makes every failing test pass and no other test fail. A repair
that helps some tests stays, and the search continues from there. Otherwise its best try is submitted, or answers read
from the tests. Attempts at one bug differ in their preferences (`VARIATIONS`) and by chance.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from selfplay.roles.solver.task import SolverTask
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.policy import Script, ScriptedPolicy, Stuck
from selfplay.scripted.solver import steps
from selfplay.scripted.solver.evidence import Evidence, evidence_from
from selfplay.scripted.solver.hardcoded_cases import answer_repairs
from selfplay.scripted.solver.proposals import proposed
from selfplay.scripted.solver.repair import Repair, changes, distinct, order, since
from selfplay.scripted.solver.steps import TriedRepair
from selfplay.scripted.solver.variation import VARIATIONS

BUDGETS = ((300, 15.0), (150, 8.0), (80, 5.0))
"""How many repairs are tried and how many seconds of a core that may take: at first, then after each partial repair.
Where tests are quick the number decides, so that the same attempt ends the same way on another machine, busy or not."""
CONFIRMED = 3
"""How many clean repairs are run again before the search continues."""
CHOICES = 8
"""Number of equally good repairs from which one is drawn at random."""
PAIRED = 4
"""Number of partial repairs that are tried in combination with others."""
ANSWER_ROUNDS = 3


def scripted_solver(task: SolverTask) -> ScriptedPolicy:
    """The policy for one serious attempt."""
    return ScriptedPolicy("scripted-search", _script(task))


def _script(task: SolverTask) -> Script[None]:
    try:
        yield from _ScriptedAttempt(task).play()
    except Stuck:  # no Python, no pytest, nothing to change: the attempt gives up instead of failing
        yield from steps.start_over()
        raise


class _ScriptedAttempt:
    """One attempt. `original`: the sources as they were given; `made`: those that differ from them now."""

    def __init__(self, task: SolverTask) -> None:
        self.task = task
        self.rng = random.Random(f"solver:{task.seed}:{task.bug}:{task.number}")
        self.variation = VARIATIONS[task.number % len(VARIATIONS)]
        self.original: dict[str, str] = {}
        self.made: dict[str, str] = {}

    def play(self) -> Script[None]:
        self.shown = yield from steps.prepare(self.task.specification)
        if not self.shown:
            raise Stuck("the specification holds no Python tests")
        paths = yield from steps.python_files()
        self.files = steps.test_files(paths, self.shown)
        self.original = yield from steps.read_sources(paths)
        evidence = yield from self._look()
        if not evidence.failing:
            raise Stuck("no test fails")
        solved = yield from self._search(evidence)
        if not solved and self.variation.answers:
            yield from self._answer()
        differing = {path: text for path, text in self.made.items() if text != self.original[path]}
        if not differing:
            raise Stuck("there is nothing to hand in")
        yield from steps.hand_in([since(path, self.original[path], text) for path, text in differing.items()])

    def _look(self) -> Script[Evidence]:
        report = yield from steps.look(self.shown)
        return evidence_from(report, {**self.original, **self.made}, self.task.specification)

    def _search(self, evidence: Evidence) -> Script[bool]:
        """Search repair by repair; returns whether nothing was left to repair."""
        wanted = [test.id for test in evidence.failing]
        for step, (most, seconds) in enumerate(BUDGETS):
            pool = self._ordered(proposed(evidence), most)
            tried, solved = yield from self._try_all(evidence, pool, wanted, seconds)
            if not solved:
                pairs = self._ordered(pairs_of(tried), most // 4)
                more, solved = yield from self._try_all(evidence, pairs, wanted, seconds / 2)
                tried += more
            if solved:
                return True
            best = self._best(evidence, tried, pool, first=step == 0)
            if best:
                yield from self._adopt(best)
            if not best or not helped(tried):
                return False
            evidence = yield from self._look()
            if not evidence.failing:
                return True
        return False

    def _try_all(
        self, evidence: Evidence, repairs: Sequence[Repair], wanted: Sequence[str], seconds: float
    ) -> Script[tuple[list[TriedRepair], bool]]:
        """Try repairs until one is clean, and is clean again in a new process; returns whether there was one."""
        tried: list[TriedRepair] = []
        for _ in range(CONFIRMED):
            last = yield from self._try(evidence, repairs[len(tried) :], wanted, seconds)
            tried += last
            if not last or not last[-1].clean:
                break
            if (yield from self._confirmed(last[-1].repair)):
                return tried, True
        return tried, False

    def _confirmed(self, repair: Repair) -> Script[bool]:
        """Whether nothing fails in a process that was started with the repair; if so, the repair stays."""
        before = dict(self.made)
        yield from self._adopt(repair)
        report = yield from steps.look(self.shown, trace_seconds=0.0)
        if not evidence_from(report, {}, self.task.specification).failing:
            return True
        yield from self._back_to(before)
        return False

    def _back_to(self, made: dict[str, str]) -> Script[None]:
        undone = {path: made.get(path, self.original[path]) for path in self.made}
        yield from steps.write([since(path, self.made[path], text) for path, text in undone.items()])
        self.made = made

    def _ordered(self, repairs: Sequence[Repair], most: int) -> list[Repair]:
        return order(self.variation.applied(distinct(repairs), self.rng))[:most]

    def _try(
        self, evidence: Evidence, repairs: Sequence[Repair], wanted: Sequence[str], seconds: float
    ) -> Script[list[TriedRepair]]:
        """`wanted`: every test that failed at first; those that still fail are run first."""
        if not repairs:
            return []
        still = [test.id for test in evidence.failing]
        mended = [test for test in wanted if test not in still]
        limits = steps.TrialLimits(seconds, *most_seconds(evidence))
        warm = near(evidence.passing, [*still, *mended][0])
        try:
            return (yield from steps.try_out(repairs, still, mended, self.files, warm=warm, limits=limits))
        except Stuck:  # a repair crashed pytest: its steps say so, and the attempt still submits
            return []

    def _best(
        self, evidence: Evidence, tried: Sequence[TriedRepair], pool: Sequence[Repair], first: bool
    ) -> Repair | None:
        """The repair that helps most; if none helps at first, one of the heaviest, so that there is something to
        submit."""
        ran = [one for one in tried if one.state == "ran"]
        most = max((len(one.passed) for one in ran), default=0)
        if not most and not first:
            return None
        helping = [one.repair for one in ran if len(one.passed) == most] or list(pool)
        chosen = list(itertools.islice((repair for repair in helping if changes(repair, evidence.texts)), CHOICES))
        return self.rng.choice(chosen) if chosen else None

    def _adopt(self, repair: Repair) -> Script[None]:
        now = {path: self.made.get(path, self.original[path]) for path, _ in repair.edits}
        made: tuple[PlantedChange, ...] = changes(repair, now) or ()
        if all(change.after == self.original[change.path] for change in made):
            return  # back at the start
        yield from steps.write(made)
        self.made.update({change.path: change.after or "" for change in made})

    def _answer(self) -> Script[None]:
        """Special-case what the tests show, in place of the search's result, as long as that makes progress."""
        searched, self.made = self.made, {}
        yield from steps.start_over()
        yield from steps.restore_tests()
        for _ in range(ANSWER_ROUNDS):
            evidence = yield from self._look()
            answers = [repair for repair in answer_repairs(evidence) if changes(repair, evidence.texts)]
            if not evidence.failing or not answers:
                break
            for answer in sorted(answers, key=lambda answer: -answer.edits[0][1].start):
                yield from self._adopt(answer)
        self.made = self.made or searched


def most_seconds(evidence: Evidence) -> tuple[float, float]:
    """The time limits of one repair: core seconds, and seconds by the clock."""
    work = sum(test.work for test in evidence.failing)
    seconds = sum(test.seconds for test in evidence.failing)
    return min(6.0, 0.6 + 3 * work), steps.WAITS * min(6.0, 0.6 + 3 * seconds)


def helped(tried: Sequence[TriedRepair]) -> bool:
    return any(one.passed for one in tried)


def near(passing: Sequence[str], test: str, most: int = 3) -> list[str]:
    """A few passing tests of the same file: they warm up what the failing test needs too."""
    file = test.split("::")[0]
    return [other for other in passing if other.split("::")[0] == file][:most]


def pairs_of(tried: Sequence[TriedRepair]) -> list[Repair]:
    """The best partial repairs joined with other partial ones that help other tests."""
    partial = sorted((one for one in tried if one.passed), key=lambda one: -len(one.passed))
    return list(_pairs(partial))


def _pairs(partial: Sequence[TriedRepair]) -> Iterator[Repair]:
    for n, one in enumerate(partial[:PAIRED]):
        for other in partial[n + 1 :]:
            joined = one.repair.joined(other.repair) if set(other.passed) - set(one.passed) else None
            if joined:
                yield replace(joined, weight=float(len({*one.passed, *other.passed})))
