"""The steps of a training run: play both roles, credit, update, give the engines the new weights.

`training.pipeline` says which steps are played at once.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from selfplay.agent.chat_format import ChatFormat
from selfplay.commands.attempts import lost_attempt, play_attempts
from selfplay.commands.injections import Injector, stored_injections
from selfplay.commands.promoting import promoted
from selfplay.commands.ready import ready_bugs
from selfplay.commands.solve import chosen
from selfplay.commands.storing import store_attempt
from selfplay.commands.train_opponents import Opponent
from selfplay.commands.train_parts import Learns, Plays, Samples, Watcher
from selfplay.commands.train_repositories import Repositories
from selfplay.commands.train_told import told
from selfplay.curriculum import Attempt, Curriculum, crediting
from selfplay.curriculum.lost import attempt_name
from selfplay.learning.crediting import Credited, credited
from selfplay.learning.stored import played_in
from selfplay.rollout.injector import injector_key
from selfplay.rollout.losses import Control, control_in
from selfplay.rollout.many import each_of
from selfplay.rollout.rollout import InjectorRollout, SolverRollout
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.solver import ReadyBug
from selfplay.training.config import TrainConfig
from selfplay.training.errors import TrainingError
from selfplay.training.ledger import Attempted, Ledger, Planned
from selfplay.training.pipeline import pipelined
from selfplay.training.schedule import Injected, attempted, next_attempts

TRAINING = "training"
"""The name under which the attempts of the policy in training are filed, whatever its version."""
TRIES = 2
"""How often an attempt is played that fails by an error of ours."""
IN_VAIN = 8
"""The run stops after so many steps in a row that teach nothing."""


@dataclass
class Training:
    """A run. `repositories`: which is drawn; `runs`: of each that can be used, what its episodes share, whoever plays
    them. `vocabulary`: the model's size of it. `ready`: the bugs that may be attempted, read once. `store`: called when
    a step is finished. `opponent`: what plays some groups instead."""

    config: TrainConfig
    pool: Curriculum
    ledger: Ledger
    repositories: Repositories
    runs: Mapping[str, RepositoryRuns]
    plays: Plays
    engines: Samples
    learner: Learns
    chat: ChatFormat
    vocabulary: int | None
    watcher: Watcher
    store: Callable[[], None] = lambda: None
    opponent: Opponent | None = None
    ready: dict[str, ReadyBug] = field(default_factory=dict)
    _idle_since: float = field(default_factory=time.monotonic)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> None:
        """Play and learn until the last step is finished."""
        await self.engines.sync(self.learner)
        first, config = len(self.ledger.finished()), self.config
        await pipelined(first, config.steps, config.staleness, self._played, self._learned)
        await self.learner.write()

    async def _played(self, step: int) -> Planned:
        """Play a step, or the rest of one that a kill cut short."""
        wanted = [] if self.ledger.planned(step) else self.repositories.injections(step)
        plan = self.ledger.begin(step, self.learner.version, wanted)
        await self._inject(step, plan.injections)
        attempts = plan.attempts
        if attempts is None:
            attempts = await self._chosen(step, plan.injections)
            self.ledger.choose(step, attempts)
        others = self.opponent
        opposed = others.attempted(self._made(plan.injections)) if others is not None else frozenset()
        await self._attempt(step, attempts, opposed)
        await self._promote({bug for bug, _ in attempts})
        return replace(plan, attempts=attempts)

    async def _learned(self, plan: Planned) -> None:
        """Learn a step that is played, and finish it. Its `wait`: how long the trainer had nothing to do."""
        step, phases = plan.step, {"wait": time.monotonic() - self._idle_since}
        with _timed(phases, "credit"):
            rollouts = await self._credited(plan)
        with _timed(phases, "learn"):
            figures = await self.learner.learn(rollouts, step)
        with _timed(phases, "sync"):
            await self.engines.sync(self.learner)
        figures |= self.repositories.figures(plan)
        self.ledger.finish(step, {"number": step, "version": plan.version, **figures, "phases": phases})
        self.store()
        self.watcher.done(told(step, self.config.steps, figures, sum(phases.values())))
        self._idle_since = time.monotonic()
        self._refuse_vain()

    async def _inject(self, step: int, wanted: Injected) -> None:
        """Play these injector episodes, as far as they are not stored, and take their bugs as they come."""
        pool, stored = self.pool, {name: self.pool.episodes.finished(name) for name in self.runs}
        injectors = {name: self._injector(name, step) for name in self.runs}
        jobs = [(injectors[name], number) for name, number in wanted if name in stored and number not in stored[name]]
        async with aclosing(stored_injections(pool, each_of(jobs), self.plays.places, self._control())) as records:
            async for record in records:
                self._take()
                said = f": {record.reason}" if record.reason else ""
                of = f" of {record.repository}" if len(self.config.repositories) > 1 else ""
                self.watcher.say(f"injector {record.number}{of} ({record.strategy}) {record.status}{said}")
        self._take()

    def _injector(self, name: str, step: int) -> Injector:
        run = self.runs[name].injecting

        async def play(number: int) -> InjectorRollout:
            others = self.opponent
            plays = others.plays if others is not None and others.injects(name, number) else self.plays
            return await plays.inject(name, number, step)

        return Injector(name, run.player.name, play, partial(injector_key, run))

    def _control(self) -> Control | None:
        run = self._any.injecting
        return None if self.plays.elsewhere else control_in(run.pool, run.workers)

    @property
    def _any(self) -> RepositoryRuns:
        """For what all repositories share: the seats, the threads, the name of the policy."""
        return next(iter(self.runs.values()))

    def _take(self) -> None:
        everything = 1 << 62
        for name in self.runs:
            self.pool.episodes.take(everything, repository=name, in_order=False)

    async def _chosen(self, step: int, played: Injected) -> Attempted:
        """The attempts of a step: at the bugs that its injections made, and at old ones."""
        new, only = self._made(played), chosen(self.pool, self.config.solver.only)
        await self._make_ready(frozenset(bug.id for bug in self.pool.bugs()) if only is None else only | new.keys())
        fresh = [bug for bug in new if bug in self.ready]
        old = [bug for bug in self.ready if bug not in new and (only is None or bug in only)]
        wanted, planned = attempted(fresh, old, self.config.solver, self.config.seed, step), self.ledger.attempts()
        return [(bug, number) for bug in wanted for number in self._numbers(bug, planned)]

    def _made(self, injections: Injected) -> dict[str, tuple[str, int]]:
        """The bugs that these injections made -> which of them."""
        wanted, found = set(injections), self.pool.episodes.with_bugs()
        mine = [(one.bug, (one.repository, one.number)) for one in found if one.bug]
        return {bug.id: episode for bug, episode in mine if episode in wanted}

    def _numbers(self, bug: str, planned: Attempted) -> range:
        """The numbers of the next attempts: above those that are stored, and those that other steps will make."""
        taken = [attempt.number for attempt in self.pool.attempts.group(bug, TRAINING)]
        taken += [number for other, number in planned if other == bug]
        return next_attempts(taken, self.config.solver.attempts)

    async def _attempt(self, step: int, attempts: Attempted, opposed: Set[str]) -> None:
        """Play those of the attempts that are not stored, the opponent those at `opposed` bugs; one that fails by an
        error of ours, once more. What could not be played is stored as lost, so that it is counted."""
        await self._make_ready(frozenset(bug for bug, _ in attempts))

        def tell(attempt: Attempt) -> None:
            self.watcher.say(f"solver {attempt.bug} {attempt.number}: {attempt.reason}")

        plays, say, homes = self.plays, self.watcher.say, self.pool.homes()
        solving, why = self._any.solving, dict[tuple[str, int], str]()

        async def solve(ready: ReadyBug, number: int) -> SolverRollout:
            who = self.opponent.plays if self.opponent is not None and ready.bug.id in opposed else plays
            return await who.solve(homes[ready.bug.id], ready, number, step)

        for _ in range(TRIES):
            jobs = self._playable(attempts)
            why |= await play_attempts(solving, None, self.pool, jobs, plays.places, tell, say, solve, plays.elsewhere)
        aside = self.pool.lost.unplayed()
        for bug, number in sorted(set(attempts) - self.pool.attempts.finished(TRAINING)):
            known = aside.get(attempt_name(bug, TRAINING, number), "its bug could not be attempted")
            store_attempt(self.pool, lost_attempt(solving, bug, number, why.get((bug, number), known)))

    def _playable(self, attempts: Attempted) -> list[tuple[ReadyBug, int]]:
        """Those of the attempts that are neither stored nor set aside, at bugs that can be attempted."""
        done, aside = self.pool.attempts.finished(TRAINING), self.pool.lost.unplayed()
        return [
            (self.ready[bug], number)
            for bug, number in attempts
            if bug in self.ready and (bug, number) not in done and attempt_name(bug, TRAINING, number) not in aside
        ]

    async def _promote(self, bugs: Set[str]) -> None:
        """Make second-order bugs of the failed attempts at these, for later steps. They train the solver, and leave the
        reward of the injector that made the bug alone."""
        most = self.config.solver.second_order
        if most:
            async with self._reading:
                homes = self.pool.homes()
                for name, runs in self.runs.items():
                    ready = [self.ready[bug] for bug in sorted(bugs) if bug in self.ready and homes[bug] == name]
                    await promoted(runs.solving, self.pool, ready, most, self.watcher.say)

    async def _make_ready(self, bugs: frozenset[str]) -> None:
        """Read and audit those of the bugs that are not ready yet."""
        async with self._reading:  # steps that are played at once ask for the same ones
            missing, homes = bugs - self.ready.keys(), self.pool.homes()
            for name, runs in self.runs.items():
                own = frozenset(bug for bug in missing if homes.get(bug) == name)
                found = await ready_bugs(runs.solving, self.pool, own, self.watcher.say) if own else []
                self.ready |= {one.bug.id: one for one in found}

    async def _credited(self, plan: Planned) -> list[Credited]:
        """The credit of the step's episodes, for the present weights."""
        suffix = self.pool.episodes.suffix
        injections = {
            crediting.injection_name(number, suffix(name)): (name, number) for name, number in plan.injections
        }
        attempts = {crediting.attempt_name(bug, number): bug for bug, number in plan.attempts or ()}
        names = injections.keys() | attempts.keys()
        played = await asyncio.to_thread(played_in, self.pool.folder, TRAINING, "refuse", lambda: self.chat, names)
        played.sort(key=lambda one: (one.episode.role, one.episode.name))  # not as they came: one batch, one gradient
        if self.opponent is not None:
            played = self.opponent.marked(played, injections, attempts, self._made(plan.injections))
        planned = self.config.solver.attempts
        return credited(played, self.config.recipe, planned, self.learner.version, self.vocabulary)

    def _refuse_vain(self) -> None:
        """Raises `TrainingError` when the last steps taught nothing: the next would not either."""
        last = self.ledger.finished()[-IN_VAIN:]
        if len(last) == IN_VAIN and all("nothing" in one for one in last):
            raise TrainingError(
                f"the last {IN_VAIN} steps taught nothing: {last[-1]['nothing']}",
                "Begin with a cold start (`selfplay sft`), easier bugs in the run's folder, or larger groups.",
            )


@contextmanager
def _timed(phases: dict[str, float], name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    phases[name] = time.monotonic() - began
