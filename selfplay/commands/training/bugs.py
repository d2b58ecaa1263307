"""The bugs of a training run that can be attempted. They are read and audited when first drawn, since a run's folder
may have many more."""

import asyncio
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from selfplay.commands.attemptable_bugs import ready_bugs
from selfplay.commands.promoting import promoted
from selfplay.curriculum import Curriculum
from selfplay.formatting import Say
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.runs import RepositoryRuns


@dataclass
class ReadyBugs:
    """`runs`: by repository. `ready`: the requested bugs that can be attempted."""

    pool: Curriculum
    runs: Mapping[str, RepositoryRuns]
    say: Say
    ready: dict[str, ReadyBug] = field(default_factory=dict)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, bugs: Set[str]) -> None:
        """Read and audit the bugs that are not ready yet. One that cannot be attempted is reported, and tried again
        when it is drawn again: the machine may have failed."""
        async with self._reading:  # concurrent steps ask for the same bugs
            missing = bugs - self.ready.keys()
            homes = self.pool.homes() if missing else {}
            for name, runs in self.runs.items():
                own = frozenset(bug for bug in missing if homes.get(bug) == name)
                found = await ready_bugs(runs.solving, self.pool, own, self.say) if own else []
                self.ready |= {one.bug.id: one for one in found}

    async def promote(self, bugs: Set[str], most: int) -> None:
        """Make up to `most` second-order bugs from each bug's failed attempts, for later steps. They train the solver
        and do not change the injector's reward for the bug."""
        if not most:
            return
        async with self._reading:
            homes = self.pool.homes()
            for name, runs in self.runs.items():
                own = [self.ready[bug] for bug in sorted(bugs) if bug in self.ready and homes[bug] == name]
                await promoted(runs.solving, self.pool, own, most, self.say)
