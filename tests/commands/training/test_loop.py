"""The steps of a training run on a real pool and ledger: what plays beside what, and what a resumed run still plays.

Who plays, learns and audits is written here: a player that says when each episode ends.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from curriculum.test_crediting import injection

from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.commands.training.choice import TRAINING
from selfplay.commands.training.loop import Training
from selfplay.commands.training.repositories import Repositories
from selfplay.curriculum import open_curriculum
from selfplay.loop.config import TrainConfig
from selfplay.loop.ledger import open_ledger
from selfplay.rollout.rollout import (
    InjectorKey,
    InjectorOutcome,
    InjectorRollout,
    Rollout,
    SolverKey,
    SolverOutcome,
    SolverRollout,
)
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.scheduler import RolloutError
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.figures import UpdateFigures

SECONDS = 20.0
"""Far more than an episode takes here: what waits for so long waits for ever."""
ATTEMPTS = [(f"b.{bug}", number) for bug in range(2) for number in range(2)]


@dataclass
class Player:
    """Every injection plants bug `b.NUMBER`; the last one ends when `held` is set. `told`: called with each
    attempt."""

    told: Callable[[tuple[str, int]], Any] = lambda one: None
    held: asyncio.Event = field(default_factory=asyncio.Event)
    injected: list[int] = field(default_factory=list)
    attempted: list[tuple[str, int]] = field(default_factory=list)
    places: int = 8
    elsewhere: bool = True

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout:
        self.injected.append(number)
        if number == 1:
            await asyncio.wait_for(self.held.wait(), SECONDS)
        made = injection(number, "valid")
        outcome = InjectorOutcome(
            "valid", "", 0.0, tree_key=made.tree_key, artifact=made.artifact, bug=made.bug, task_key=f"task {number}"
        )
        return Rollout(Trajectory("injector", "p", Finish.SUBMITTED), InjectorKey("s", "removal", 0, number), outcome)

    async def solve(self, repository: str, ready: Any, number: int, step: int) -> SolverRollout:
        self.attempted.append((ready.bug.id, number))
        self.told((ready.bug.id, number))
        key = SolverKey(ready.bug.id, TRAINING, 0, number)
        return Rollout(
            Trajectory("solver", "p", Finish.SUBMITTED), key, SolverOutcome(False, "failing-tests", "", "", 0.0)
        )


class Ready:
    """Bugs that can be attempted; those of `bad` cannot."""

    def __init__(self, bad: Sequence[str]) -> None:
        self.ready: dict[str, Any] = {}
        self._bad = bad

    async def read(self, bugs: Set[str]) -> None:
        await asyncio.sleep(0)
        self.ready |= {bug: SimpleNamespace(bug=SimpleNamespace(id=bug)) for bug in bugs if bug not in self._bad}

    async def promote(self, bugs: Set[str], most: int) -> None:
        """There are no bugs of second order here."""


class Learner:
    version = 0

    async def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures:
        return {"step": None, "nothing": "no trainer", "rollouts": {}}

    async def write(self) -> None:
        """It has no weights."""


class Engines:
    async def sync(self, learner: Learner) -> None:
        """They have no weights."""


@contextmanager
def training(folder: Path, player: Player, bad: Sequence[str] = (), **settings: Any) -> Iterator[Training]:
    """One step of two injections, and two attempts at each of their bugs."""
    config = TrainConfig.model_validate({
        "source": "s", "model": "none", "steps": 1, "play": {"context": 64}, "recipe": {"budget": 64},
        "injector": {"members": 2, "strategy": "removal"}, "solver": {"bugs": 1, "attempts": 2},
        **settings,
    })  # fmt: skip
    shared: Any = SimpleNamespace(
        repository="s", seats=None, workers=None, player=SimpleNamespace(name="p"), policy=TRAINING, seed=0
    )
    silent: Any = SimpleNamespace(say=lambda line: None, done=lambda line: None)
    with open_curriculum(folder) as pool, open_ledger(folder) as ledger:
        made: Any = Training(
            config, pool, ledger, Repositories.of(config, ledger, pool, silent.say),
            {"s": RepositoryRuns(shared, shared)}, Ready(bad), player, Engines(), Learner(), None, None, silent,  # type: ignore[arg-type]
        )  # fmt: skip
        yield made


def planned(run: Training) -> Any:
    return run.ledger.begin(0, 0, []).attempts


def test_attempts_at_a_new_bug_begin_while_other_injections_play(tmp_path: Path) -> None:
    """The second injection ends only once both attempts at the first one's bug were made."""

    async def played() -> None:
        player = Player()
        player.told = lambda one: player.held.set() if one == ("b.0", 1) else None
        with training(tmp_path, player) as run:
            await run.run()
            assert player.attempted == ATTEMPTS and player.injected == [0, 1]
            assert planned(run) == ATTEMPTS

    asyncio.run(played())


def test_a_run_stopped_before_its_attempts_are_planned_plays_none_twice(tmp_path: Path) -> None:
    """It is stopped while the second injection plays, and the first bug was attempted: what a kill leaves."""

    async def stopped() -> None:
        player = Player()
        with training(tmp_path, player) as run:
            task = asyncio.ensure_future(run.run())
            while len(run.pool.attempts.stored(TRAINING, ATTEMPTS)) < 2:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert planned(run) is None and player.attempted == ATTEMPTS[:2]

    async def resumed() -> None:
        player = Player()
        player.held.set()
        with training(tmp_path, player) as run:
            await run.run()
            assert player.injected == [1] and player.attempted == ATTEMPTS[2:]
            assert planned(run) == ATTEMPTS
            assert run.pool.attempts.stored(TRAINING, ATTEMPTS) == set(ATTEMPTS)

    asyncio.run(stopped())
    asyncio.run(resumed())


def test_an_error_of_an_attempt_ends_the_injections_that_still_play(tmp_path: Path) -> None:
    def fails(one: tuple[str, int]) -> None:
        raise RolloutError("no sandbox starts", "Mend it.")

    async def played() -> None:
        with training(tmp_path, Player(fails)) as run, pytest.raises(RolloutError, match="no sandbox starts"):
            await asyncio.wait_for(run.run(), SECONDS / 2)

    asyncio.run(played())


@pytest.mark.parametrize(("of_role", "injector", "solver"), [(None, 2, 4), (1, 1, 1), (3, 2, 3)])
def test_a_finished_step_keeps_as_many_trajectories_as_asked(
    tmp_path: Path, of_role: int | None, injector: int, solver: int
) -> None:
    """Of two injections and four attempts."""

    async def played() -> None:
        player = Player()
        player.held.set()
        with training(tmp_path, player, trajectories={"of_role": of_role}) as run:
            await run.run()
        kept = [path.name for path in (tmp_path / "trajectories").iterdir()]
        assert (len(kept), sum("solver" in name for name in kept)) == (injector + solver, solver)

    asyncio.run(played())


def test_a_new_bug_that_cannot_be_attempted_is_not(tmp_path: Path) -> None:
    async def played() -> None:
        player = Player()
        player.held.set()
        with training(tmp_path, player, bad=["b.0"]) as run:
            await run.run()
            assert Counter(player.attempted) == Counter(ATTEMPTS[2:])
            assert planned(run) == ATTEMPTS[2:]

    asyncio.run(played())
