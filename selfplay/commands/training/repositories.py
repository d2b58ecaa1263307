"""The repositories of a training run: which are usable, which are drawn for injector groups, and which are benched.

A repository that cannot be prepared is benched at once; the next start of the same command tries it again. One whose
last `injector.bench_after` groups in a row gave no valid bug is benched for `injector.bench_steps` steps: the policy
may do better later. The ledger records both, so that a resumed run makes the same draws. The only repository of a run
is never benched.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfplay.commands.curricula import record_failure
from selfplay.commands.curriculum import CurriculumWatcher, prepared_source
from selfplay.commands.order import Order
from selfplay.curriculum import Curriculum, CurriculumError, OtherSettings
from selfplay.errors import SelfplayError
from selfplay.formatting import Say, count
from selfplay.loop.config import TrainConfig
from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger import Ledger, Planned
from selfplay.loop.schedule import Injected, drawn, first_injection, groups_of, in_vain, injections
from selfplay.loop.step_record import RepositoryFigures
from selfplay.repository import MeasuredRepository, Suite
from selfplay.sandbox import Backend
from selfplay.scripted.injector.impossible import too_few_tests

Measured = dict[str, MeasuredRepository]
"""Repository -> its prepared tree and measured suite."""


def prepared_sources(
    orders: Sequence[Order],
    pool: Curriculum,
    ledger: Ledger,
    backend: Backend,
    watcher: CurriculumWatcher,
    injects: bool = True,
) -> Measured:
    """Prepare every repository. If there are several, a failing one is benched, and so is one in which no bug can be
    valid if the run `injects`. Raises `SelfplayError` if none is left."""
    found: Measured = {}
    for order in orders:
        try:
            repository = prepared_source(order, pool, backend, watcher)
            if injects:
                refuse_too_few_tests(order, repository.suite)
            found[order.source] = repository
            ledger.usable(order.source)
        except SelfplayError as error:
            of_the_pool = isinstance(error, CurriculumError) and not isinstance(error, OtherSettings)
            if len(orders) == 1 or of_the_pool:
                raise
            why = record_failure(pool, order.source, error)
            ledger.bench(order.source, ledger.steps_finished(), None, why)
            watcher.say(f"{order.source} is benched: {why}")
    if not found:
        raise _all_benched(ledger.benched(ledger.steps_finished()))
    return found


def refuse_too_few_tests(order: Order, suite: Suite) -> None:
    """Raises `TrainingError` if no bug in code with this suite can be valid."""
    least = order.thresholds
    if few := too_few_tests(suite, least.min_passing_tests, least.min_failing_tests):
        raise TrainingError(
            f"no bug of {order.source} can be valid: {few}",
            "Lower injector.min_passing or injector.min_failing, or name another repository.",
        )


@dataclass(frozen=True)
class Repositories:
    """`first`: the number of the run's first injector episode in each."""

    config: TrainConfig
    ledger: Ledger
    pool: Curriculum
    first: Mapping[str, int]
    say: Say

    @classmethod
    def of(cls, config: TrainConfig, ledger: Ledger, pool: Curriculum, say: Say) -> "Repositories":
        """The repositories of a run; the first numbers are recorded when it begins."""
        first = ledger.counts("first")
        if first is None:
            names, members = [one.source for one in config.repositories], config.injector.members
            first = {name: first_injection(sorted(pool.episodes.finished(name)), members) for name in names}
            ledger.settle({"first": first})
        return cls(config, ledger, pool, dict(first), say)

    def injections(self, step: int) -> Injected:
        """Plan the injector episodes of a step. Raises `TrainingError` if every repository is benched."""
        how = self.config.injector
        if not how.groups:
            return []
        self._bench(step)
        out = self.ledger.benched(step)
        weights = {one.source: one.weight for one in self.config.repositories if one.source not in out}
        if not weights:
            raise _all_benched(out)
        names = drawn(weights, how.groups, self.config.seed, step)
        stored = {name: [self.pool.episodes.newest(name)] for name in self.first}
        first = {name: max(own, first_injection(stored[name], how.members)) for name, own in self.first.items()}
        return injections(names, first, self.ledger.open_injections(), how)

    def _bench(self, step: int) -> None:
        """Bench the repositories whose last groups gave no valid bug."""
        how, out, gave = self.config.injector, self.ledger.benched(step), self.pool.episodes.gave()
        if len(self.config.repositories) == 1 or not how.bench_after:
            return
        for name in (one.source for one in self.config.repositories if one.source not in out):
            played = self.ledger.injections(self.ledger.since(name), played=True)
            vain = in_vain(groups_of(name, played, gave, how.members))
            if vain >= how.bench_after:
                until = step + how.bench_steps
                why = f"its last {count(vain, 'group')} gave no valid bug; benched from step {step + 1} to {until}"
                self.ledger.bench(name, step, until, why)
                self.pool.record_repository(name, {"stopped": why})
                self.say(f"{name}: {why}")

    def figures(self, plan: Planned) -> RepositoryFigures | None:
        """For a run on several repositories: each one's groups in a step, and which were benched and why."""
        if len(self.config.repositories) == 1:
            return None
        members, out = self.config.injector.members, self.ledger.benched(plan.step)
        groups = Counter(name for name, _ in plan.injections)
        drawn_for = {name: episodes // members for name, episodes in groups.items()}
        return {"groups": drawn_for, "benched": len(out), "reasons": dict(out)}


def _all_benched(out: Mapping[str, str]) -> TrainingError:
    told = "".join(f"\n  {name}: {why}" for name, why in out.items())
    return TrainingError(f"no repository of the run can be used{told}", "Mend one, or name others.")
