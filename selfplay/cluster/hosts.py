"""All hosts of a run, on the driver: which one plays what. Attempts at a bug go to the host that calibrated it while it
has a place.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray

from selfplay.artifact.reading import read_below
from selfplay.cluster.actor_calls import FAILURES, LOOK_EVERY, ActorAway, ActorLost, all_of, answered, ended
from selfplay.cluster.errors import RESUMES, ClusterError
from selfplay.cluster.host import MOST_BUGS, BugFiles, NotOpened, OpenRuns
from selfplay.cluster.seats import EpisodeSlots
from selfplay.curriculum.calibrations import CALIBRATION_FILE
from selfplay.errors import SelfplayError
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.retries import RolloutError
from selfplay.rollout.rollout import InjectorRollout, Rollout, SolverRollout
from selfplay.sandbox import Cause, SandboxLost

OPEN_SECONDS = 7200.0
"""How long a host may take to open."""
MOST_BYTES = 64 << 20


@dataclass
class Hosts:
    """The hosts. `actors`: Ray handles; `open_runs`: what each is opened with; `known`: the tree keys of a repository's
    bugs; `seconds`: the time limit of an episode with its checks; `least`: the lowest weight version of an episode's
    tokens. The death of a host counts as a lost sandbox, so the caller plays the episode again."""

    actors: Sequence[Any]
    open_runs: OpenRuns
    each: int
    known: Callable[[str], frozenset[str]]
    seconds: float
    least: Callable[[], int] = lambda: 0
    elsewhere: bool = True
    lost: int = 0
    _homes: dict[str, int] = field(default_factory=dict)
    _files: OrderedDict[str, Any] = field(default_factory=OrderedDict)
    _sent: dict[str, tuple[frozenset[str], Any]] = field(default_factory=dict)
    _reopening: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._seats = EpisodeSlots(len(self.actors), self.each)
        self._opens = ray.put(self.open_runs)

    @property
    def places(self) -> int:
        """How many episodes run at once."""
        return self.each * len(self.actors)

    async def open(self) -> None:
        """Open every host. Raises the hosts' errors, and `ClusterError` if one keeps dying."""
        await all_of([self._opened(number) for number in range(len(self.actors))])

    async def _opened(self, number: int) -> None:
        """Open a host, again if it dies meanwhile. While others play, one may wait for a place as long as needed."""
        until, died = asyncio.get_running_loop().time() + OPEN_SECONDS, 0
        while True:
            there = False
            try:
                there = await answered(self.actors[number].there.remote(), OPEN_SECONDS)
                found = await answered(self.actors[number].open.remote(self._opens), OPEN_SECONDS)
            except ActorLost as error:
                died += there or not isinstance(error, ActorAway)
                alone = len(self._seats.away) in (0, len(self.actors))
                if died >= FAILURES or (alone and asyncio.get_running_loop().time() > until):
                    raise ClusterError(f"host {number} cannot be opened: {error}", RESUMES) from error
                await asyncio.sleep(LOOK_EVERY)
                continue
            if isinstance(found, SelfplayError):
                raise found
            return

    async def prepare(self, repository: str) -> Any:
        """Prepare a repository on a host, which is then preferred for its episodes; returns the host's facts about
        it."""
        async with self._seats.taken(0, lambda: self._homes.get(repository)) as host:
            self._homes[repository] = host
            return await self._answer(host, self.actors[host].prepare.remote(repository))

    async def inject(self, repository: str, number: int, step: int, opponent: bool = False) -> InjectorRollout:
        """Play an injector episode, by the policy in training or its opponent."""
        async with self._seats.taken(step, lambda: self._homes.get(repository)) as host:
            known = self._known_to(repository)
            call = self.actors[host].inject.remote(repository, number, known, self.least(), opponent)
            found = await self._answer(host, call)
        assert isinstance(found, Rollout)
        return found

    def _known_to(self, repository: str) -> Any:
        """The keys as a Ray object for all hosts; sent again only when they change."""
        now = self.known(repository)
        if self._sent.get(repository, (None,))[0] is not now:
            self._sent[repository] = (now, ray.put(now))
        return self._sent[repository][1]

    async def solve(
        self, repository: str, ready: ReadyBug, number: int, step: int, opponent: bool = False
    ) -> SolverRollout:
        """Make an attempt at a bug, by the policy in training or its opponent."""
        bug = ready.bug.id
        async with self._seats.taken(step, lambda: self._homes.get(bug)) as host:
            self._homes.setdefault(bug, host)
            files = await self._files_of(ready)
            call = self.actors[host].solve.remote(repository, files, number, self.least(), opponent)
            found = await self._answer(host, call)
        assert isinstance(found, Rollout)
        return found

    def _reopen(self, host: int) -> None:
        """Ray restarts a host that died. Until it is open again, nothing is played there."""
        if host not in self._seats.away:
            self._seats.away.add(host)
            self._reopening[host] = asyncio.create_task(self._back(host))

    async def _back(self, host: int) -> None:
        try:
            await self._opened(host)
        except Exception as error:  # it would otherwise go unnoticed
            self.fail(error)
            return
        self._seats.back(host)

    def fail(self, error: Exception) -> None:
        """End the run: every waiting or future episode gets this error."""
        said = error.message if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}"
        self._seats.fail(RolloutError(said, RESUMES))

    async def _files_of(self, ready: ReadyBug) -> Any:
        """A bug's files as a Ray object for all hosts; the newest bugs' are kept."""
        bug = ready.bug.id
        if bug not in self._files:
            self._files[bug] = ray.put(await asyncio.to_thread(_files_of, ready))
        self._files.move_to_end(bug)
        while len(self._files) > MOST_BUGS:
            self._files.popitem(last=False)
        return self._files[bug]

    async def close(self) -> None:
        """End the hosts and their episodes."""
        for task in self._reopening.values():
            task.cancel()
        await asyncio.gather(*self._reopening.values(), return_exceptions=True)
        await ended(self.actors)

    async def _answer(self, host: int, call: Any) -> Any:
        """A host's result. Raises the error that it returned, and `SandboxLost` if it died."""
        try:
            found = await answered(call, self.seconds)
            if isinstance(found, NotOpened):
                raise ActorLost(found.message)
        except ActorLost as error:
            self.lost += 1
            self._reopen(host)
            raise SandboxLost(f"host {host} of the episode was lost: {error}", cause=Cause.OUTSIDE) from error
        if isinstance(found, SelfplayError):
            raise found
        return found


@dataclass(frozen=True)
class Opposing:
    """The same hosts, on which the opponent plays."""

    hosts: Hosts
    elsewhere: bool = True

    @property
    def places(self) -> int:
        return self.hosts.places

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout:
        return await self.hosts.inject(repository, number, step, opponent=True)

    async def solve(self, repository: str, ready: ReadyBug, number: int, step: int) -> SolverRollout:
        return await self.hosts.solve(repository, ready, number, step, opponent=True)


def _files_of(ready: ReadyBug) -> BugFiles:
    """A stored bug as bytes, without the calibration: a host trusts only its own."""
    files: dict[str, bytes] = {}
    for path in sorted(Path(ready.folder).iterdir()):
        if path.name != CALIBRATION_FILE and path.is_file() and not path.is_symlink():
            files[path.name] = read_below(ready.folder, path.name, MOST_BYTES)
    return BugFiles(ready.bug.id, Path(ready.folder).absolute(), files)
