"""Which attempts a step of training makes: at its own new bugs, and at old ones."""

from collections.abc import Set
from dataclasses import dataclass

from selfplay.commands.training.interfaces import AttemptableBugs
from selfplay.curriculum import Curriculum
from selfplay.loop.config import TrainConfig
from selfplay.loop.ledger import Ledger
from selfplay.loop.ledger_values import Attempted
from selfplay.loop.schedule import Injected, next_attempts, shuffled_bugs

TRAINING = "training"
"""The name under which the attempts of the policy in training are filed, whatever its version."""
ONLY = "only"
"""The ledger's setting with the ids of the bugs from which old ones are drawn; None: all."""


@dataclass(frozen=True)
class AttemptChoice:
    """Chooses attempts. `bugs`: those that can be attempted."""

    config: TrainConfig
    pool: Curriculum
    ledger: Ledger
    bugs: AttemptableBugs

    async def chosen(self, step: int, played: Injected) -> Attempted:
        """The attempts of a step: at its own new bugs, and at old ones."""
        new = made(self.pool, played)
        await self.bugs.read(new.keys())
        fresh = [bug for bug in new if bug in self.bugs.ready]
        old = await self._old(step, new.keys(), self.config.solver.bugs - len(fresh))
        planned = self.ledger.open_attempts()  # nothing is awaited from here on, since other steps choose concurrently
        attempts = [one for bug in fresh for one in self.first(bug)]
        return attempts + [(bug, number) for bug in old for number in self._numbers(bug, planned)]

    def first(self, bug: str) -> Attempted:
        """The attempts at a new bug, whether some were made or none."""
        return [(bug, number) for number in next_attempts((), self.config.solver.attempts)]

    async def _old(self, step: int, new: Set[str], room: int) -> list[str]:
        """Up to `room` old bugs, in the step's random order. One that cannot be attempted is skipped; only drawn bugs
        are read."""
        found = list[str]()
        order = shuffled_bugs(self._olds() - new, self.config.seed, step) if room > 0 else []
        while order and len(found) < room:
            some, order = order[: room - len(found)], order[room - len(found) :]
            await self.bugs.read(set(some))
            found += [bug for bug in some if bug in self.bugs.ready]
        return found

    def _olds(self) -> Set[str]:
        """The bugs that may be drawn: all, or those that the run names and their second-order bugs. The new ones of an
        unfinished step are its own until then."""
        named = self.ledger.names(ONLY)
        if named is None:
            return self.pool.orders().keys() - made(self.pool, self.ledger.open_injections()).keys()
        return {*named, *(bug for bug, root in self.pool.attempts.roots().items() if root in named)}

    def _numbers(self, bug: str, planned: Attempted) -> range:
        """The numbers of the next attempts, above the stored and the planned ones."""
        taken = [self.pool.attempts.newest(bug, TRAINING), *(number for other, number in planned if other == bug)]
        return next_attempts(taken, self.config.solver.attempts)


def made(pool: Curriculum, injections: Injected) -> dict[str, tuple[str, int]]:
    """Bug -> the injection that made it."""
    return {bug: episode for episode, bug in pool.episodes.gave(injections).items()}
