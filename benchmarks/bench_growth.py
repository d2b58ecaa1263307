"""What a step of a training run costs its driver, where the run's folder holds few episodes and where it holds many.

The pool, the ledger and the loop are real; episodes are ready at once, the update is left out. A run holds so many
episodes of steps before, and two more steps are played.
`.venv-models/bin/python -m benchmarks.bench_growth [--json]`
"""

import argparse
import asyncio
import json
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.bench_episodes import CHAT
from benchmarks.bench_loop import SILENT, LearnsNothing, asked, trajectory
from benchmarks.figures import Figure, Sheet, at_most, report
from selfplay.agent import Trajectory
from selfplay.commands.storing import store_episode
from selfplay.commands.training.bugs import ReadyBugs
from selfplay.commands.training.loop import Training
from selfplay.commands.training.repositories import Repositories
from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.loop.ledger import Ledger, open_ledger
from selfplay.rollout.rollout import InjectorKey, InjectorOutcome, InjectorRollout, Rollout
from selfplay.rollout.runs import RepositoryRuns
from selfplay.sandbox.workers import Workers

STORED = (64, 20_000)
EACH, STEPS = 64, 2
"""Episodes of a step, and how many steps are timed."""


class Ready:
    """Plays nothing: every episode is the same one."""

    places, elsewhere = EACH, True

    def __init__(self, pool: Curriculum, rollout: InjectorRollout) -> None:
        self._pool, self._rollout = pool, rollout

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout:
        assert not self._pool.episodes.keys(repository)
        return replace(self._rollout, task=replace(self._rollout.task, number=number))


async def sync(learner: Any) -> None:
    """No engine waits for weights."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    one = asyncio.run(trajectory())
    few, many = (seconds(one, stored) for stored in STORED)
    figures = tuple(
        Figure(f"a step of {EACH} episodes, {stored} in the run", cost, "core s")
        for stored, cost in zip(STORED, (few, many), strict=True)
    )
    report([Sheet("The driver of a long run", (*figures, at_most("times as much", many / few, 1.2, "")))], chosen.json)


def seconds(one: Trajectory, stored: int) -> float:
    """Core seconds of a step."""
    rollout = Rollout(one, InjectorKey("nowhere", "removal", 0, 0), InjectorOutcome("gave_up", "nothing", 1.0))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pool = stack.enter_context(open_curriculum(Path(folder)))
        ledger = stack.enter_context(open_ledger(Path(folder)))
        held(pool, ledger, rollout, stored)
        workers = stack.enter_context(Workers(1))
        shared: Any = SimpleNamespace(seats=None, workers=workers, player=SimpleNamespace(name="none"))
        config = asked(
            EACH, steps=stored // EACH + STEPS, solver={"bugs": 0}, recipe={"valid": "consistency", "filters": []}
        )
        run = Training(
            config=config, pool=pool, ledger=ledger, repositories=Repositories.of(config, ledger, pool, SILENT.say),
            runs=(runs := {"nowhere": RepositoryRuns(shared, shared)}), bugs=ReadyBugs(pool, runs, SILENT.say),
            plays=Ready(pool, rollout),  # type: ignore[arg-type]
            engines=SimpleNamespace(sync=sync), learner=LearnsNothing(), chat=CHAT, vocabulary=None,
            watcher=SILENT,
        )  # fmt: skip
        began = time.process_time()
        asyncio.run(run.run())
        return (time.process_time() - began) / STEPS


def held(pool: Curriculum, ledger: Ledger, rollout: InjectorRollout, stored: int) -> None:
    """Give the run so many episodes: rows as the first one's, and the steps that planned them."""
    store_episode(pool, rollout)
    pool.episodes.take(None, repository="nowhere", in_order=False)
    columns = [name for _, name, *_ in pool._db.execute("PRAGMA table_info(episodes)")]
    row = dict(zip(columns, pool._db.execute("SELECT * FROM episodes").fetchone(), strict=True))
    marks = ", ".join("?" * len(columns))
    rows = ({**row, "number": number, "taken": number + 1} for number in range(1, stored))
    with pool._db:
        pool._db.executemany(f"INSERT INTO episodes VALUES ({marks})", (list(one.values()) for one in rows))
    ledger.settle({"first": {"nowhere": 0}})
    plans = [[["nowhere", number] for number in range(at, at + EACH)] for at in range(0, stored - EACH + 1, EACH)]
    figures = [json.dumps({"number": step, "version": step, "rollouts": {}}) for step in range(len(plans))]
    with ledger._db:
        ledger._db.executemany(
            "INSERT INTO steps VALUES (?, ?, ?, '[]', ?)",
            [(step, step, json.dumps(plan), figures[step]) for step, plan in enumerate(plans)],
        )


if __name__ == "__main__":
    main()
