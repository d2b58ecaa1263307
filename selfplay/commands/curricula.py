"""From a list of sources to one pool: what `selfplay curriculum LIST.txt` does.

One repository after the other, each as in `curriculum.py`; its bugs, episodes and original lie in the same folder.
What ails one repository never ends the run: it is recorded with its reason, and the table of the run tells it. Those
that failed are tried again last when the same command goes on.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.commands import leftovers
from selfplay.commands.cost import Meter, phases
from selfplay.commands.curriculum import Watcher, played, player_for, prepared_source
from selfplay.commands.order import Order, repository_settings, shared_settings
from selfplay.commands.solve import settle_attempts
from selfplay.curriculum import Curriculum, CurriculumError, OtherSettings, open_curriculum
from selfplay.curriculum.repositories import facts_of
from selfplay.curriculum.summary import summarise, write_summary
from selfplay.errors import SelfplayError
from selfplay.repository.errors import RepositoryError
from selfplay.rollout.players import Player, player_named
from selfplay.sandbox import Backend
from selfplay.words import count

log = logging.getLogger(__name__)
IN_A_ROW = 3
"""The run stops after so many repositories in a row that failed by something else than their own fault."""
LONGEST = 400
"""Characters of a reason."""


def run_list(base: Order, orders: Sequence[Order], backend: Backend, watcher: Watcher) -> dict[str, Any]:
    """Make or resume the bugs of every repository, in `base.out`; `orders` as `read_list` gives them. Returns the
    summary, also written to `summary.json`.

    Raises `SelfplayError` for what ails the run as a whole; what was stored is kept, and the same command resumes."""
    player = player_named(base.policy, base.options)
    with ExitStack() as stack:
        pool = stack.enter_context(open_curriculum(base.out))
        leftovers.sweep(base.out)
        pool.settle({**shared_settings(base), "source": Path(base.source).name, **player.settings})
        if base.order == 2:
            settle_attempts(pool, player.name, player)
        pool.add_repositories(order.source for order in orders)
        runner = stack.enter_context(asyncio.Runner())
        stack.callback(lambda: runner.run(player.close()))
        runner.run(player.open(watcher.say))
        making, stopped = _Making(pool, backend, player, runner, watcher), "interrupted"
        try:
            making.all_of(waiting(pool, orders))
            stopped = "the list is done"
        except SelfplayError as error:
            stopped = error.message
            raise
        finally:
            summary = list_summary(base, orders, pool, stopped)
            write_summary(base.out, summary)
    return summary


def waiting(pool: Curriculum, orders: Sequence[Order]) -> list[Order]:
    """The repositories that lack bugs: those that failed before come last."""
    facts = facts_of(pool)
    lacking = [order for order in orders if pool.episodes.count(order.source) < order.bugs]
    return sorted(lacking, key=lambda order: facts[order.source].failed)


def list_summary(base: Order, orders: Sequence[Order], pool: Curriculum, stopped: str) -> dict[str, Any]:
    """The figures of the run."""
    facts = {"source": base.source, "wanted": sum(order.bugs for order in orders), "stopped": stopped}
    return {**facts, **summarise(pool), "cost": phases(pool)}


@dataclass
class _Making:
    pool: Curriculum
    backend: Backend
    player: Player
    runner: asyncio.Runner
    watcher: Watcher

    def all_of(self, orders: Sequence[Order]) -> None:
        """Make the bugs of each. Raises the error of the last one when too many in a row could not be played."""
        row = 0
        for number, order in enumerate(orders, 1):
            self.watcher.say(f"{order.source}: {number} of {count(len(orders), 'repository', 'repositories')}")
            meter = Meter(self.pool, order.source)
            try:
                record_end(self.pool, order, self._one(order, meter))
                row = 0
            except Exception as error:
                if isinstance(error, sqlite3.Error | CurriculumError) and not isinstance(error, OtherSettings):
                    raise  # of the pool itself
                why = record_failure(self.pool, order.source, error, order.bugs)
                self.watcher.say(f"{order.source} is left: {why}")
                row = 0 if isinstance(error, RepositoryError | OtherSettings) else row + 1
                if row == IN_A_ROW:
                    raise
            finally:
                meter.store()

    def _one(self, order: Order, meter: Meter) -> str:
        """Why no more bugs were made."""
        pool, backend, watcher = self.pool, self.backend, self.watcher
        pool.settle_repository(order.source, repository_settings(order))
        prepared, suite = prepared_source(order, pool, backend, watcher)
        player, why_not = player_for(order, self.player, prepared, suite, pool, backend, watcher)
        if why_not:
            return why_not
        watcher.expect(order.bugs, f"making bugs of {order.source}")
        return self.runner.run(played(order, pool, prepared, suite, backend, player, watcher, meter))


def record_end(pool: Curriculum, order: Order, stopped: str) -> None:
    """Keep why no more bugs were made of a repository."""
    known = {name: value for name, value in pool.repositories()[order.source].items() if name != "hint"}
    pool.record_repository(order.source, {**known, "wanted": order.bugs, "stopped": stopped, "failed": False})


def record_failure(pool: Curriculum, repository: str, error: Exception, wanted: int = 0) -> str:
    """Keep, and return, why a repository could not be used, and what to do about it."""
    if not isinstance(error, SelfplayError):
        log.error("%s failed", repository, exc_info=error)
    said = error.message if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, SelfplayError) else "Please report it."
    found = {"wanted": wanted, "stopped": _line(said), "hint": _line(hint), "failed": True}
    pool.record_repository(repository, {**pool.repositories()[repository], **found})
    return _line(said)


def _line(text: str) -> str:
    """A text in a line: of several the first and the last, which of a log are what failed and how."""
    lines = [line.strip().rstrip(":") for line in text.splitlines() if line.strip()]
    return ": ".join(dict.fromkeys([*lines[:1], *lines[-1:]]))[:LONGEST]
