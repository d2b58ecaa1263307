"""The steps of a training run: play both roles, credit, update, give the engine the new weights."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from selfplay.agent.chat_format import ChatFormat
from selfplay.commands.attempts import play_attempts
from selfplay.commands.injections import stored_injections
from selfplay.commands.ready import ready_bugs
from selfplay.curriculum import Attempt, Curriculum, crediting
from selfplay.curriculum.lost import attempt_name
from selfplay.learning.crediting import Credited, credited
from selfplay.learning.stored import played_in
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.many import each_of
from selfplay.rollout.model_player import ModelPlayer
from selfplay.rollout.solver import ReadyBug, SolverRun
from selfplay.training.config import TrainConfig
from selfplay.training.errors import TrainingError
from selfplay.training.ledger import Attempted, Ledger
from selfplay.training.schedule import attempted, injections, next_attempts

TRAINING = "training"
"""The name under which the attempts of the policy in training are filed, whatever its version."""
IN_VAIN = 8
"""The run stops after so many steps in a row that teach nothing."""


class Learns(Protocol):
    """The model in training."""

    @property
    def version(self) -> int: ...

    def learn(self, rollouts: Sequence[Credited], step: int) -> dict[str, Any]: ...

    def write(self) -> Path | None: ...


class Watcher(Protocol):
    """Who is told how it goes."""

    def say(self, line: str) -> None: ...

    def done(self, line: str) -> None: ...


@dataclass
class Training:
    """A run between two steps. `first`: the number of its first injector episode; `vocabulary`: the model's size of it.
    `ready`: the bugs that may be attempted, read once."""

    config: TrainConfig
    pool: Curriculum
    ledger: Ledger
    injecting: InjectorRun
    solving: SolverRun
    player: ModelPlayer
    learner: Learns
    chat: ChatFormat
    vocabulary: int | None
    first: int
    watcher: Watcher
    ready: dict[str, ReadyBug] = field(default_factory=dict)

    async def sync(self) -> None:
        """Give the engine the weights of the learner. Before the first update it has them."""
        weights = await asyncio.to_thread(self.learner.write)
        if weights is not None:
            await self.player.reload(weights, self.learner.version)

    async def step(self, step: int) -> None:
        """Play, learn and finish a step, or the rest of one that a kill cut short."""
        began, numbers = time.monotonic(), list(injections(step, self.first, self.config.injector))
        plan = self.ledger.begin(step, self.learner.version, numbers)
        await self._inject(plan.injections)
        attempts = plan.attempts
        if attempts is None:
            attempts = await self._chosen(step, plan.injections)
            self.ledger.choose(step, attempts)
        await self._attempt(attempts)
        played = time.monotonic()
        rollouts = self._credited(plan.injections, attempts, plan.version)
        figures = await asyncio.to_thread(self.learner.learn, rollouts, step)
        learned = time.monotonic()
        await self.sync()
        seconds = {"play": played - began, "learn": learned - played, "sync": time.monotonic() - learned}
        self.ledger.finish(step, {"number": step, "version": plan.version, **figures, "phases": seconds})
        self.watcher.done(told(step, self.config.steps, figures, sum(seconds.values())))
        self._refuse_vain()

    async def _inject(self, numbers: Sequence[int]) -> None:
        """Play the injector episodes of these numbers that are not stored, and take their bugs as they come."""
        run, stored = self.injecting, self.pool.episodes.finished(self.config.source)
        jobs = each_of([number for number in numbers if number not in stored])
        places = self.player.episodes or run.workers.count
        async with aclosing(stored_injections(run, self.pool, jobs, places)) as records:
            async for record in records:
                self._take()
                said = f": {record.reason}" if record.reason else ""
                self.watcher.say(f"injector {record.number} ({record.strategy}) {record.status}{said}")
        self._take()

    def _take(self) -> None:
        everything = 1 << 62
        self.pool.episodes.take(everything, repository=self.config.source, in_order=False)

    async def _chosen(self, step: int, numbers: Sequence[int]) -> Attempted:
        """The attempts of a step: at the bugs that its injections made, and at old ones."""
        await self._make_ready(frozenset(bug.id for bug in self.pool.bugs()))
        made = set(numbers)
        new = [
            record.bug.id
            for record in self.pool.episodes.with_bugs()
            if record.number in made and record.repository == self.config.source and record.bug
        ]
        fresh = [bug for bug in new if bug in self.ready]
        old = [bug for bug in self.ready if bug not in new]
        wanted = attempted(fresh, old, self.config.solver, self.config.seed, step)
        return [(bug, number) for bug in wanted for number in self._numbers(bug)]

    def _numbers(self, bug: str) -> range:
        stored = [attempt.number for attempt in self.pool.attempts.group(bug, TRAINING)]
        return next_attempts(stored, self.config.solver.attempts)

    async def _attempt(self, attempts: Attempted) -> None:
        """Play those of the attempts that are neither stored nor set aside."""
        await self._make_ready(frozenset(bug for bug, _ in attempts))
        done, aside = self.pool.attempts.finished(TRAINING), self.pool.lost.unplayed()
        jobs = [
            (self.ready[bug], number)
            for bug, number in attempts
            if bug in self.ready and (bug, number) not in done and attempt_name(bug, TRAINING, number) not in aside
        ]
        places = self.player.episodes or self.solving.workers.count

        def tell(attempt: Attempt) -> None:
            self.watcher.say(f"solver {attempt.bug} {attempt.number}: {attempt.reason}")

        await play_attempts(self.solving, None, self.pool, jobs, places, tell, self.watcher.say)

    async def _make_ready(self, bugs: frozenset[str]) -> None:
        """Read and audit those of the bugs that are not ready yet."""
        missing = bugs - self.ready.keys()
        if missing:
            found = await ready_bugs(self.solving, self.pool, missing, self.watcher.say)
            self.ready |= {one.bug.id: one for one in found}

    def _credited(self, numbers: Sequence[int], attempts: Attempted, version: int) -> list[Credited]:
        """The credit of the step's episodes. They are all of one version: nothing is stale."""
        suffix = self.pool.episodes.suffix(self.config.source)
        names = {crediting.injection_name(number, suffix) for number in numbers}
        names |= {crediting.attempt_name(bug, number) for bug, number in attempts}
        played = played_in(self.pool.folder, TRAINING, "refuse", self.chat, names)
        planned = self.config.solver.attempts
        return credited(played, self.config.recipe, planned, version, self.vocabulary)

    def _refuse_vain(self) -> None:
        """Raises `TrainingError` when the last steps taught nothing: the next would not either."""
        last = self.ledger.finished()[-IN_VAIN:]
        if len(last) == IN_VAIN and all("nothing" in one for one in last):
            raise TrainingError(
                f"the last {IN_VAIN} steps taught nothing: {last[-1]['nothing']}",
                "Begin with a cold start (`selfplay sft`), easier bugs in the run's folder, or larger groups.",
            )


def told(step: int, steps: int, figures: dict[str, Any], seconds: float) -> str:
    """A step in a line."""
    parts = [f"step {step + 1} of {steps}"]
    for role, found in figures["rollouts"].items():
        reward = f", reward {found['reward']['mean']:+.2f}" if found["reward"] else ""
        parts.append(f"{role} {found['trained_on']} of {found['episodes']} teach{reward}")
    if "nothing" in figures:
        parts.append("nothing to learn, no update")
    else:
        norm, both = figures["step"], figures["tokens"]["both"]
        parts.append(f"loss {norm['loss']:.3g}, gradient {norm['gradient']:.3g}, ratio {both['ratio']:.3f}")
        parts.append(f"entropy {both['entropy']:.2f}")
    return "; ".join([*parts, f"{seconds:.0f} s"])
