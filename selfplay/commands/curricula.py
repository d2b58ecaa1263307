"""From a list of sources to one pool: what `selfplay curriculum LIST.txt` does.

One repository after the other, each as in `curriculum.py`; their bugs, episodes and originals are in the same folder. A
failing repository never ends the run: the reason is recorded and shown in the run's table. When the same command
resumes, failed repositories are tried again last.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.agent.model import ModelError
from selfplay.commands import cleanup
from selfplay.commands.chances import planned, player_for
from selfplay.commands.cost import CostMeter, phases
from selfplay.commands.curriculum import CurriculumWatcher, played, prepared_source
from selfplay.commands.event_loop import EventLoop
from selfplay.commands.order import Order, repository_settings, shared_settings
from selfplay.commands.shared_run import say_if_shared
from selfplay.commands.solve import settle_attempts
from selfplay.curriculum import Curriculum, CurriculumError, OtherSettings, open_curriculum
from selfplay.curriculum.repositories import facts_of
from selfplay.curriculum.summary import summarise, write_summary
from selfplay.errors import SelfplayError
from selfplay.formatting import Say, count
from selfplay.repository.cache import default_cache
from selfplay.repository.disk import VARIABLE
from selfplay.repository.errors import CacheError
from selfplay.rollout.players import Player, player_named
from selfplay.rollout.retries import ModelDown, RolloutError
from selfplay.sandbox import Backend, SandboxError
from selfplay.sandbox.retry import LimitMet, StillLost
from selfplay.user_paths import home

log = logging.getLogger(__name__)
IN_A_ROW = 3
"""The run stops after this many repositories in a row that failed through no fault of their own."""
MORE = "Another strategy= or a higher patience= on its line may give more."
MEND = "Mend its name or its options, or leave it out."
"""The hint if nothing better is known."""
LONGEST = 400
"""The most characters of a reason."""


Make = Callable[[Curriculum, Sequence[Order]], None]
"""Makes the bugs of repositories."""


def run_list(base: Order, orders: Sequence[Order], make: Make, say: Say) -> dict[str, Any]:
    """Make or resume the bugs of every repository, in `base.out`; `orders` as `read_list` gives them. Returns the
    summary, also written to `summary.json`. `make`: `here`, or `curricula_cluster.on_ray`.

    Raises `SelfplayError` for errors of the run as a whole; what was stored is kept, and the same command resumes."""
    player = player_named(base.policy, base.options)
    with open_curriculum(base.out) as pool:
        cleanup.sweep(base.out)
        say_if_shared(base.out, say)
        pool.settle({**shared_settings(base), "source": Path(base.source).name, **player.settings})
        if base.order == 2:
            settle_attempts(pool, player.name, player, base.attempts)
        pool.add_repositories(order.source for order in orders)
        for order in orders:
            pool.record_repository(order.source, {"wanted": order.bugs})
        stopped = "interrupted"
        try:
            make(pool, waiting(pool, orders))
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
    """The figures of the run. `lacking`: the repositories with fewer bugs than requested."""
    lacking = [order.source for order in orders if pool.episodes.count(order.source) < order.bugs]
    wanted = sum(order.bugs for order in orders)
    facts = {"source": base.source, "wanted": wanted, "stopped": stopped, "lacking": lacking}
    return {**facts, **summarise(pool), "cost": phases(pool)}


@dataclass
class Ends:
    """Records how each repository ended. `row`: how many in a row failed through no fault of their own."""

    pool: Curriculum
    say: Say
    row: int = 0

    def ended(self, order: Order, stopped: str) -> None:
        """Record that a repository is done, with the reason."""
        hint = "" if self.pool.episodes.count(order.source) >= order.bugs else MORE
        self.pool.record_repository(order.source, {"stopped": stopped, "hint": hint, "failed": False})
        self.row = 0

    def failed(self, order: Order, error: Exception) -> None:
        """Record a repository's error. Raises it if it is the pool's, or one too many in a row."""
        if isinstance(error, sqlite3.Error | CurriculumError) and not isinstance(error, OtherSettings):
            raise error
        self.say(f"{order.source} is skipped: {record_failure(self.pool, order.source, error)}")
        self.row = self.row + 1 if _of_no_repository(error) else 0
        if self.row == IN_A_ROW:
            raise error


def _of_no_repository(error: Exception) -> bool:
    """Whether an error is of the machine, of the model, or one that nobody foresaw: every other typed one says what is
    wrong with the repository."""
    elsewhere = SandboxError | StillLost | CacheError | RolloutError | ModelDown | ModelError
    return not isinstance(error, SelfplayError) or (isinstance(error, elsewhere) and not isinstance(error, LimitMet))


def here(base: Order, backend: Backend, watcher: CurriculumWatcher) -> Make:
    """Makes the bugs in this process, one repository after the other."""

    def make(pool: Curriculum, orders: Sequence[Order]) -> None:
        player, ends = player_named(base.policy, base.options), Ends(pool, watcher.say)
        with ExitStack() as stack:
            runner = stack.enter_context(EventLoop())
            stack.callback(lambda: runner.run(player.close()))
            runner.run(player.open(watcher.say))
            for number, order in enumerate(orders, 1):
                watcher.say(f"{order.source}: {number} of {count(len(orders), 'repository', 'repositories')}")
                meter = CostMeter(pool, order.source)
                try:
                    ends.ended(order, _made(order, pool, backend, player, runner, watcher, meter))
                except Exception as error:  # an error of one repository does not end the others
                    ends.failed(order, error)
                finally:
                    meter.store()

    return make


def _made(
    order: Order,
    pool: Curriculum,
    backend: Backend,
    player: Player,
    runner: EventLoop,
    watcher: CurriculumWatcher,
    meter: CostMeter,
) -> str:
    """Make the bugs of one repository. Returns why no more were made."""
    pool.settle_repository(order.source, repository_settings(order))
    repository = prepared_source(order, pool, backend, watcher)
    player, chances = player_for(order, player, *repository, watcher.say, backend, pool.lost.count_again)
    if chances.why_not:
        return chances.why_not
    order = planned(order, pool, chances, watcher.say)
    watcher.expect(order.bugs, f"making bugs of {order.source}", pool.episodes.count(order.source))
    return runner.run(played(order, pool, repository, backend, player, watcher, meter))


def record_failure(pool: Curriculum, repository: str, error: Exception) -> str:
    """Record and return why a repository could not be used, with a hint."""
    if not isinstance(error, SelfplayError):
        log.error("%s failed", repository, exc_info=error)
    said = error.message if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, SelfplayError) else "Please report it."
    pool.record_repository(repository, {"stopped": _line(said), "hint": _line(hint) or MEND, "failed": True})
    return _line(said)


def _line(text: str) -> str:
    """A text as one line: of a log the first and the last line, which say what failed and how. It is stored in a run,
    which may be shared: the user's own folders are told by their names."""
    for place, name in ((default_cache(), f"${VARIABLE}"), (home(), "~")):
        text = text.replace(str(place), name) if place else text
    lines = [line.strip().rstrip(":") for line in text.splitlines() if line.strip()]
    return ": ".join(dict.fromkeys([*lines[:1], *lines[-1:]]))[:LONGEST]
