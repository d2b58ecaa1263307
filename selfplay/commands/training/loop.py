"""The steps of a training run: play both roles, credit, update, give the engines the new weights.

`loop.pipeline` says which steps are played at once.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from selfplay.agent.chat_format import ChatFormat
from selfplay.commands.injections import Injector, stored_injections
from selfplay.commands.training.attempting import Attempting, Start, beside
from selfplay.commands.training.choice import TRAINING, AttemptChoice, made
from selfplay.commands.training.held import Holding
from selfplay.commands.training.interfaces import (
    AttemptableBugs,
    InferenceBackend,
    RolloutBackend,
    TrainerBackend,
    TrainWatcher,
)
from selfplay.commands.training.lines import told
from selfplay.commands.training.opponents import Made, Opponent
from selfplay.commands.training.repositories import Repositories
from selfplay.curriculum import Curriculum, crediting
from selfplay.curriculum.attempts import attempt_trajectory
from selfplay.curriculum.crediting import ENDING
from selfplay.loop.config import TrainConfig
from selfplay.loop.errors import TrainingError
from selfplay.loop.kept import unkept
from selfplay.loop.ledger import Ledger, Planned
from selfplay.loop.pipeline import pipelined
from selfplay.loop.schedule import Injected
from selfplay.loop.step_record import Phases, StepOfSeveral, StepRecord, seconds_of
from selfplay.rollout.injector import injector_key
from selfplay.rollout.retries import IdleCheck, idle_check_in
from selfplay.rollout.rollout import InjectorRollout
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.scheduler import each_of
from selfplay.update.batch.crediting import Credited, credited
from selfplay.update.batch.stored import taped
from selfplay.update.batch.summary import spent_by_role

IN_VAIN = 8
"""The run stops after this many steps in a row without a gradient."""


@dataclass
class Training:
    """A run. `repositories`: draws repositories; `runs`: what the episodes of each usable repository share;
    `bugs`: those that can be attempted. `vocabulary`: its size in the model. `store`: called when a step is finished.
    `opponent`: plays some groups instead."""

    config: TrainConfig
    pool: Curriculum
    ledger: Ledger
    repositories: Repositories
    runs: Mapping[str, RepositoryRuns]
    bugs: AttemptableBugs
    plays: RolloutBackend
    engines: InferenceBackend
    learner: TrainerBackend
    chat: ChatFormat
    vocabulary: int | None
    watcher: TrainWatcher
    store: Callable[[], None] = lambda: None
    opponent: Opponent | None = None
    _idle_since: float = field(default_factory=time.monotonic)
    _own: Holding = field(init=False)
    _choice: AttemptChoice = field(init=False)
    _attempting: Attempting = field(init=False)

    def __post_init__(self) -> None:
        self._own = Holding(self.plays, self.pool)
        self._choice = AttemptChoice(self.config, self.pool, self.ledger, self.bugs)
        self._attempting = Attempting(self.pool, self.runs, self._own, self.bugs, self.watcher, self.opponent)

    async def run(self) -> Path | None:
        """Play and learn until the last step is finished. Returns the folder of the weights; None before the first
        update."""
        await self.engines.sync(self.learner)
        first, config = self.ledger.steps_finished(), self.config
        await pipelined(first, config.steps, config.staleness, self._played, self._learned)
        return await self.learner.write()

    async def _played(self, step: int) -> Planned:
        """Play a step, or the rest of one that a kill cut short."""
        wanted = [] if self.ledger.planned(step) else self.repositories.injections(step)
        plan = self.ledger.begin(step, self.learner.version, wanted)
        early, attempts = set[str](), plan.attempts
        if attempts is None:
            async with beside() as start:
                await self._inject(step, plan.injections, lambda new: self._begin(step, new, early, start))
            attempts = await self._choice.chosen(step, plan.injections)
            self.ledger.choose(step, attempts)
        if rest := [(bug, number) for bug, number in attempts if bug not in early]:
            await self._attempting.play(step, rest, self._opposed(made(self.pool, plan.injections)))
        await self.bugs.promote({bug for bug, _ in attempts}, self.config.solver.second_order)
        return replace(plan, attempts=attempts)

    async def _learned(self, plan: Planned) -> None:
        """Learn a played step, and finish it. Its `wait`: how long the trainer was idle."""
        step, wait = plan.step, time.monotonic() - self._idle_since
        phases: Phases = {"wait": wait, "credit": 0.0, "learn": 0.0, "sync": 0.0}
        with _timed(phases, "credit"):
            rollouts = await self._credited(plan)
        with _timed(phases, "learn"):
            figures = await self.learner.learn(rollouts, step)
        with _timed(phases, "sync"):
            await self.engines.sync(self.learner)
        spent = spent_by_role(rollouts)
        record: StepRecord = {"number": step, "version": plan.version, "phases": phases, "spent": spent, **figures}
        of_each = self.repositories.figures(plan)
        self.ledger.finish(record if of_each is None else StepOfSeveral(**record, repositories=of_each))
        self.store()
        self._tidy(plan)
        self.watcher.done(told(step, self.config.steps, figures, seconds_of(phases)))
        self._idle_since = time.monotonic()
        self._refuse_vain()

    def _tidy(self, plan: Planned) -> None:
        """Delete the trajectories of a finished step that the run does not keep."""
        suffix = self.pool.episodes.suffix
        injections = [crediting.injection_name(number, suffix(name)) + ENDING for name, number in plan.injections]
        attempts = [attempt_trajectory(bug, TRAINING, number) for bug, number in plan.attempts or ()]
        for name in unkept(plan.step, (injections, attempts), self.config.trajectories, self.config.seed):
            (self.pool.folder / "trajectories" / name).unlink(missing_ok=True)

    def _begin(self, step: int, new: Made, early: set[str], start: Start) -> None:
        """Begin the attempts at new bugs, beside the injections that still play."""
        for bug in new:
            start(self._first(step, bug, self._opposed(new), early))

    async def _first(self, step: int, bug: str, opposed: Set[str], early: set[str]) -> None:
        """The attempts at a new bug of the step, if it can be attempted; `early`: told so. They are in no plan yet:
        nobody else attempts the bug before the step is finished, so a resumed run chooses the same ones."""
        await self.bugs.read({bug})
        if bug in self.bugs.ready:
            early.add(bug)
            await self._attempting.play(step, self._choice.first(bug), opposed)

    def _opposed(self, bugs: Made) -> frozenset[str]:
        return frozenset() if self.opponent is None else self.opponent.attempted(bugs)

    async def _inject(self, step: int, wanted: Injected, found: Callable[[Made], None]) -> None:
        """Play these injector episodes unless they are stored, and take their bugs as they come. `found`: told the new
        ones, also those of before a kill."""
        pool, stored = self.pool, self.pool.episodes.stored(wanted)
        self._take()
        found(made(pool, sorted(stored)))
        injectors = {name: self._injector(name, step) for name in self.runs}
        jobs = [
            (injectors[name], number) for name, number in wanted if name in injectors and (name, number) not in stored
        ]
        async with aclosing(stored_injections(pool, each_of(jobs), self.plays.places, self._idle_check())) as records:
            async for record in records:
                self._take()
                found(made(pool, [(record.repository, record.number)]))
                said = f": {record.reason}" if record.reason else ""
                of = f" of {record.repository}" if len(self.config.repositories) > 1 else ""
                self.watcher.say(f"injector {record.number}{of} ({record.strategy}) {record.status}{said}")

    def _injector(self, name: str, step: int) -> Injector:
        run = self.runs[name].injecting

        async def play(number: int) -> InjectorRollout:
            others = self.opponent
            plays = others.plays if others is not None and others.injects(name, number) else self._own
            return await plays.inject(name, number, step)

        return Injector(name, run.player.name, play, partial(injector_key, run))

    def _idle_check(self) -> IdleCheck | None:
        run = self._any.injecting
        return None if self.plays.elsewhere else idle_check_in(run.seats, run.workers)

    @property
    def _any(self) -> RepositoryRuns:
        """Any repository's run, for what all share: seats, threads, the policy's name."""
        return next(iter(self.runs.values()))

    def _take(self) -> None:
        for name in self.runs:
            self.pool.episodes.take(None, repository=name, in_order=False)

    async def _credited(self, plan: Planned) -> list[Credited]:
        """The credit of the step's episodes, for the current weights."""
        suffix = {name: self.pool.episodes.suffix(name) for name, _ in plan.injections}
        injections = {
            crediting.injection_name(number, suffix[name]): (name, number) for name, number in plan.injections
        }
        attempts = {crediting.solver_episode_name(bug, number): bug for bug, number in plan.attempts or ()}
        stored = crediting.some_episodes(self.pool, TRAINING, plan.injections, plan.attempts or ())
        held = self._own.take(one.trajectory for one in stored)
        played = await asyncio.to_thread(taped, self.pool.folder, stored, lambda: self.chat, held)
        played.sort(key=lambda one: (one.episode.role, one.episode.name))  # equal batches give equal gradients
        if self.opponent is not None:
            played = self.opponent.marked(played, injections, attempts, made(self.pool, plan.injections))
        planned = self.config.solver.attempts
        return credited(played, self.config.recipe, planned, self.learner.version, self.vocabulary)

    def _refuse_vain(self) -> None:
        """Raises `TrainingError` if the last steps gave no gradient: the next would not either."""
        last = self.ledger.newest(IN_VAIN)
        if len(last) == IN_VAIN and all("nothing" in one for one in last):
            raise TrainingError(
                f"the last {IN_VAIN} steps gave no gradient: {last[-1]['nothing']}",
                "Begin with a cold start (`selfplay sft`), easier bugs in the run's folder, or larger groups.",
            )


@contextmanager
def _timed(phases: Phases, name: Literal["credit", "learn", "sync"]) -> Iterator[None]:
    began = time.monotonic()
    yield
    phases[name] = time.monotonic() - began
