"""A host as a Ray actor: it plays episodes in its machine's sandboxes, and checks and grades what they submit.

It has no pool and stores nothing: jobs come in, rollouts go out. A bug comes as the files of its folder. If the run's
own folder is visible from here, it is used, so that all processes share calibrations.
"""

import asyncio
import logging
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from selfplay.cluster.errors import ClusterError
from selfplay.errors import SelfplayError
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.ready_bug import ReadyBug, make_ready
from selfplay.rollout.rollout import InjectorRollout, SolverRollout
from selfplay.rollout.runs import RepositoryRuns
from selfplay.rollout.solver import solver_rollout
from selfplay.rollout.stored import with_file
from selfplay.sandbox.owners import marked
from selfplay.subprocesses import stand

MOST_BUGS = 64
"""How many bugs' files, and caches on a host, are kept."""
log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class BugFiles:
    """A bug on its way to a host. `folder`: its folder in the run; `files`: the files in it, by name."""

    id: str
    folder: Path
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class HostRuns:
    """What one host plays with. `of`: what a repository's episodes share, prepared on first use; `inject` plays an
    injector episode; `close` frees everything. `at_least`: sets the lowest version of tokens. `about`: facts about a
    repository for the driver. `opponent`: the same with a frozen policy, in a run that has one."""

    of: Callable[[str], Awaitable[RepositoryRuns]]
    inject: Callable[[InjectorRun, int], Awaitable[InjectorRollout]]
    close: Callable[[], Awaitable[None]]
    at_least: Callable[[int], None] = lambda version: None
    about: Callable[[str], Awaitable[Any]] | None = None
    opponent: "HostRuns | None" = None

    def played_by(self, opponent: bool) -> "HostRuns":
        """What the opponent, or the policy in training, plays with."""
        if not opponent:
            return self
        assert self.opponent is not None
        return self.opponent


class NotOpened(SelfplayError):
    """A restarted actor got an episode before it was opened."""


OpenRuns = Callable[[], Awaitable[HostRuns]]


class HostActor:
    """One host. Errors that the run has a rule for are returned, since they are answers, not failures of the actor. A
    restarted host must be opened again, and raises `NotOpened` before that."""

    def __init__(self, folder: str) -> None:
        """`folder`: where the driver stands."""
        stand(folder)
        self._runs: HostRuns | None = None
        self._scratch = Path(tempfile.mkdtemp(prefix=marked()))  # after a kill, the next backend removes it
        self._opening = asyncio.Lock()
        self._ready: OrderedDict[str, ReadyBug] = OrderedDict()

    async def open(self, open_runs: OpenRuns) -> SelfplayError | None:
        """Get ready to play, if it is not ready."""
        async with self._opening:
            try:
                self._runs = self._runs or await open_runs()
            except SelfplayError as error:
                return error
        return None

    async def close(self) -> None:
        """Remove its files."""
        if self._runs is not None:
            await self._runs.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    async def there(self) -> bool:
        """Answers if the host is alive."""
        return True

    async def prepare(self, repository: str) -> Any:
        """Facts about a repository, prepared on first use."""
        try:
            about = self._opened(0).about
            assert about is not None
            return await about(repository)
        except SelfplayError as error:
            return error
        except Exception as error:
            log.exception("%s could not be prepared", repository)
            return ClusterError(f"{type(error).__name__}: {error}")

    async def inject(
        self, repository: str, number: int, known: frozenset[str], least: int, opponent: bool = False
    ) -> InjectorRollout | SelfplayError:
        """Play an injector episode. `known`: the tree keys of the repository's bugs in the pool."""
        try:
            runs = self._opened(least).played_by(opponent)
            own = (await runs.of(repository)).injecting
            rollout = await runs.inject(replace(own, is_known=known.__contains__), number)
            return await asyncio.to_thread(with_file, rollout)
        except SelfplayError as error:
            return error

    async def solve(
        self, repository: str, bug: BugFiles, number: int, least: int, opponent: bool = False
    ) -> SolverRollout | SelfplayError:
        """Make an attempt at a bug and grade it."""
        try:
            runs = self._opened(least).played_by(opponent)
            solving = (await runs.of(repository)).solving
            ready = self._ready.get(bug.id)
            if ready is None:
                folder = await asyncio.to_thread(_placed, bug, self._scratch)
                ready = self._ready[bug.id] = await asyncio.to_thread(make_ready, folder, solving.prepared)
            self._ready.move_to_end(bug.id)
            while len(self._ready) > MOST_BUGS:
                self._ready.popitem(last=False)
            return await asyncio.to_thread(with_file, await solver_rollout(solving, ready, number))
        except SelfplayError as error:
            return error
        except Exception as error:
            log.exception("attempt %d at %s failed", number, bug.id)
            return ClusterError(f"{type(error).__name__}: {error}")

    def _opened(self, least: int) -> HostRuns:
        """What the host's episodes share. Raises `NotOpened`."""
        if self._runs is None:
            raise NotOpened("the host was restarted and is not open")
        self._runs.at_least(least)
        return self._runs


def once_each(make: Callable[[str], Awaitable[T]]) -> Callable[[str], Awaitable[T]]:
    """`make`, cached by name and called one at a time. Errors are raised to the caller and not cached."""
    made: dict[str, T] = {}
    making = asyncio.Lock()

    async def get(name: str) -> T:
        if name not in made:
            async with making:
                if name not in made:
                    made[name] = await make(name)
        return made[name]

    return get


def _placed(bug: BugFiles, scratch: Path) -> Path:
    """The folder of a bug on this machine."""
    if bug.folder.is_dir():
        return bug.folder
    folder = scratch / "bugs" / bug.id
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in bug.files.items():
        (folder / name).write_bytes(data)
    return folder
