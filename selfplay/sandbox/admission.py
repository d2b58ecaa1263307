"""Admission: this process never has more live sandboxes than the machine can hold.

A task waits for a seat on the event loop, in order of arrival, before anything starts, so no thread ever waits for one.
A lease of a seat covers everything an episode needs, one sandbox after the other: its own, then those that check or
grade its result. No task asks for a second seat while it holds one, so waiting always ends. Each of two simultaneous
runs assumes the whole machine: limit each with `--workers`.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from selfplay.sandbox.errors import SandboxBusy, SandboxClosed, WorldRefused
from selfplay.sandbox.machine import SHARE, LimitsTooLarge, check, machine
from selfplay.sandbox.protocol import MIB, Backend, Limits, Sandbox, World

OVERCOMMIT = 4.0
"""Sandboxes seldom reach their limits together, so the sum of their limits may be this many times the memory."""
PER_CORE = 256


class LeaseClosed(SandboxClosed):
    """A sandbox was requested from a lease that has ended."""


@dataclass(frozen=True)
class Capacity:
    """What all live sandboxes may use together."""

    memory_bytes: int
    sandboxes: int

    @classmethod
    def of_this_machine(cls, overcommit: float = OVERCOMMIT) -> "Capacity":
        """The capacity given by the memory and cores that this process may use."""
        found = machine()
        return cls(int(found.memory_bytes * SHARE * overcommit), found.cores * PER_CORE)


@dataclass(frozen=True)
class PoolUsage:
    """What a pool has given out at one moment. `waiting`: the number of waiting tasks."""

    leases: int
    waiting: int
    memory_bytes: int


class Lease:
    """A seat as a `Backend`: one sandbox at a time, within the lease's limits, without waiting.

    Threads use it; `close` may be called from any thread and ends the live sandbox.
    """

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self.name, self.python, self.image_id, self.limits = backend.name, backend.python, backend.image_id, limits
        self._backend = backend
        self._lock = threading.Lock()
        self._live: Sandbox | None = None
        self._closed = self._starting = False

    def owner(self) -> tuple[int, int]:
        """The same as the backend's."""
        return self._backend.owner()

    @contextlib.contextmanager
    def open(self, world: World, limits: Limits = Limits()) -> Iterator[Sandbox]:
        """A started sandbox. Raises `SandboxBusy` if another sandbox of the lease is live, `WorldRefused` if it is too
        large for the lease, `LeaseClosed` if that has ended."""
        if limits.memory_bytes > self.limits.memory_bytes:
            raise WorldRefused(f"a sandbox of {limits.memory_bytes // MIB} MiB is larger than its lease")
        with self._lock:
            if self._closed:
                raise LeaseClosed("the lease of this sandbox has ended", "The run was stopped; it can be resumed.")
            if self._live is not None or self._starting:
                raise SandboxBusy("a lease holds one sandbox at a time", "Close the first before the second is opened.")
            self._starting = True
        held: Sandbox | None = None
        try:
            with self._backend.open(world, limits) as sandbox:
                held = self._held(sandbox)
                yield held
        finally:
            with self._lock:
                if held is None:
                    self._starting = False
                elif self._live is held:
                    self._live = None

    def _held(self, sandbox: Sandbox) -> Sandbox:
        """Register the sandbox as live until it is closed."""
        held = _Held(sandbox, self._freed)
        with self._lock:
            if not self._closed:
                self._starting, self._live = False, held
                return held
        sandbox.close()  # it was still starting when the lease ended
        raise LeaseClosed("the lease of this sandbox has ended", "The run was stopped; it can be resumed.")

    def _freed(self) -> None:
        with self._lock:
            self._live = None

    @property
    def idle(self) -> bool:
        """Whether none of the lease's sandboxes is live or starting."""
        with self._lock:
            return self._live is None and not self._starting

    def close(self) -> None:
        """End the live sandbox; later `open`s raise `LeaseClosed`."""
        with self._lock:
            self._closed, live = True, self._live
        if live is not None:
            live.close()


class _Held:
    """A sandbox that tells its lease when it is closed, so that the next one may be opened at once."""

    def __init__(self, sandbox: Sandbox, freed: Callable[[], None]) -> None:
        self.run, self.read_file, self.write_file = sandbox.run, sandbox.read_file, sandbox.write_file
        self.stream, self.own_env = sandbox.stream, sandbox.own_env
        self._close, self._freed = sandbox.close, freed

    def close(self) -> None:
        self._close()
        self._freed()


class SandboxPool:
    """Gives out the seats of a backend. Lives on one event loop."""

    def __init__(self, backend: Backend, capacity: Capacity | None = None) -> None:
        self.backend = backend
        self.capacity = capacity or Capacity.of_this_machine()
        self._queue: deque[tuple[Limits, asyncio.Future[None]]] = deque()
        self._memory = self._leases = 0

    @contextlib.asynccontextmanager
    async def lease(self, limits: Limits = Limits()) -> AsyncIterator[Lease]:
        """Wait for a seat for sandboxes with these limits. When the context ends, in any way, its sandbox ends too.

        Raises `LimitsTooLarge` for limits that this pool can never hold.
        """
        await self._admitted(limits)
        lease = Lease(self.backend, limits)
        try:
            yield lease
        finally:
            try:
                if not lease.idle:
                    await asyncio.shield(asyncio.to_thread(lease.close))
                lease.close()
            finally:
                self._give_back(limits)

    def usage(self) -> PoolUsage:
        """What is given out at this moment."""
        return PoolUsage(self._leases, len(self._queue), self._memory)

    async def _admitted(self, limits: Limits) -> None:
        """Wait for room, in order of arrival."""
        check(limits)
        if limits.memory_bytes > (most := self.capacity.memory_bytes):
            raise LimitsTooLarge(
                f"a sandbox of {limits.memory_bytes // MIB} MiB does not fit into {most // MIB} MiB",
                "Ask for less memory, or use a larger machine.",
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (limits, turn)
        self._queue.append(entry)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with contextlib.suppress(ValueError):  # it may have been removed already
                    self._queue.remove(entry)
                self._let_in()
            else:  # the seat was granted at the same moment
                self._give_back(limits)
            raise

    def _let_in(self) -> None:
        """Give seats to waiting tasks, in order, while there is room."""
        while self._queue and self._fits(self._queue[0][0]):
            limits, turn = self._queue.popleft()
            if turn.cancelled():
                continue
            self._leases += 1
            self._memory += limits.memory_bytes
            turn.set_result(None)

    def _fits(self, limits: Limits) -> bool:
        used, most = self.usage(), self.capacity
        return used.memory_bytes + limits.memory_bytes <= most.memory_bytes and used.leases < most.sandboxes

    def _give_back(self, limits: Limits) -> None:
        self._leases -= 1
        self._memory -= limits.memory_bytes
        self._let_in()
