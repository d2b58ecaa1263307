"""Admission: never more live sandboxes of this process than the machine holds, whichever thread asks.

A pool is a `Backend` around another one. Each sandbox takes its share of the machine's memory until it is closed; who
finds no room waits, in order, until a deadline. Some can be started ahead (`warm`), which hides what a start costs.
A lease bounds how long one may live: the episode's time and, after it, the time that grading may take; whoever holds
it longer finds the sandbox closed. The backends see to it that nothing outlives this process, however it ends. Two
runs at once each count on the whole machine: give each its part with `--workers`.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from selfplay.sandbox.machine import SHARE, LimitsTooLarge, check, machine
from selfplay.sandbox.protocol import MIB, Backend, Limits, Sandbox, SandboxError, World

OVERCOMMIT = 4.0
"""Limits are ceilings that sandboxes seldom reach together, so their sum may be this many times the memory."""
PER_CORE = 256
WAIT_SECONDS = 900.0


class PoolExhausted(SandboxError):
    """No room came free before the deadline."""


class PoolClosed(SandboxError):
    """A sandbox was asked for after the pool was closed."""


@dataclass(frozen=True)
class Capacity:
    """What all live sandboxes together may have."""

    memory_bytes: int
    sandboxes: int

    @classmethod
    def of_this_machine(cls, overcommit: float = OVERCOMMIT) -> "Capacity":
        """From the memory and the cores this process may use."""
        found = machine()
        return cls(int(found.memory_bytes * SHARE * overcommit), found.cores * PER_CORE)


@dataclass(frozen=True)
class Usage:
    """What a pool holds at one moment. `waiting`: threads that found no room."""

    live: int
    warm: int
    waiting: int
    memory_bytes: int


class Lease:
    """A sandbox until a moment. `close` ends it and gives its place back; safe to call twice, from any thread."""

    def __init__(self, opened: AbstractContextManager[Sandbox], give_back: Callable[["Lease"], None]) -> None:
        self.sandbox = opened.__enter__()
        self._opened, self._give_back = opened, give_back
        self._once, self._closed = threading.Lock(), False
        self._timer: threading.Timer | None = None

    def until(self, seconds: float) -> None:
        """Close it in so many seconds, whoever uses it then."""
        self._timer = threading.Timer(seconds, self.close)
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        with self._once:  # who comes second waits until it is over
            if self._closed:
                return
            self._closed = True
            if self._timer:
                self._timer.cancel()
            try:
                self._opened.__exit__(None, None, None)
            finally:
                self._give_back(self)


class Pool:
    """A backend with admission. Serves many threads; `close` ends every sandbox and every wait."""

    def __init__(self, backend: Backend, capacity: Capacity | None = None, wait_seconds: float = WAIT_SECONDS) -> None:
        self.backend = backend
        self.name = backend.name
        self.capacity = capacity or Capacity.of_this_machine()
        self.wait_seconds = wait_seconds
        self._room = threading.Condition()
        self._queue: deque[object] = deque()
        self._memory = self._live = 0
        self._leases: set[Lease] = set()
        self._warm: list[tuple[World, Limits, Lease]] = []
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        """What else a backend offers (its image, for one) is the backend's own."""
        return getattr(self.backend, name)

    @property
    def image_id(self) -> str:
        """The user's image that sandboxes run, if any."""
        return self.backend.image_id

    def owner(self) -> tuple[int, int]:
        """(uid, gid) that must own a folder for a sandbox to write to it."""
        return self.backend.owner()

    @contextlib.contextmanager
    def open(self, world: World, limits: Limits = Limits()) -> Iterator[Sandbox]:
        """A started sandbox, once there is room, closed when the context ends."""
        lease = self.lease(world, limits)
        try:
            yield lease.sandbox
        finally:
            lease.close()

    def lease(
        self, world: World, limits: Limits = Limits(), seconds: float | None = None, grading_seconds: float = 0.0
    ) -> Lease:
        """A started sandbox for an episode of `seconds` and `grading_seconds` after it, which the caller closes.

        Raises `LimitsTooLarge`, `PoolExhausted`, `PoolClosed`, and what the backend raises.
        """
        lease = self._take_warm(world, limits) or self._start(world, limits)
        if seconds is not None:
            lease.until(seconds + grading_seconds)
        return lease

    def warm(self, world: World, limits: Limits = Limits(), count: int = 1) -> None:
        """Start `count` sandboxes now, which the next that ask for the very same world and limits are given."""
        for _ in range(count):
            lease = self._start(world, limits)
            with self._room:
                self._warm.append((world, limits, lease))

    def usage(self) -> Usage:
        """What the pool holds now."""
        with self._room:
            return Usage(self._live, len(self._warm), len(self._queue), self._memory)

    def close(self) -> None:
        """End every live sandbox and every wait; later askers get `PoolClosed`. The backend stays open."""
        with self._room:
            self._closed = True
            leases = tuple(self._leases)
            self._warm.clear()
            self._room.notify_all()
        for lease in leases:
            lease.close()

    def _start(self, world: World, limits: Limits) -> Lease:
        self._admit(limits)

        def give_back(lease: Lease) -> None:
            with self._room:
                self._leases.discard(lease)
            self._release(limits)

        try:
            lease = Lease(self.backend.open(world, limits), give_back)
        except BaseException:
            self._release(limits)
            raise
        with self._room:
            self._leases.add(lease)
            closed = self._closed
        if closed:  # while it started: who closed the pool did not know it
            lease.close()
            raise PoolClosed("the pool of sandboxes is closed", "Make a new one.")
        return lease

    def _take_warm(self, world: World, limits: Limits) -> Lease | None:
        with self._room:
            for number, (its_world, its_limits, lease) in enumerate(self._warm):
                if (its_world, its_limits) == (world, limits):
                    del self._warm[number]
                    return lease
        return None

    def _admit(self, limits: Limits) -> None:
        """Wait for room, first come first served; sandboxes that only stand ready make way."""
        check(limits)
        if limits.memory_bytes > (most := self.capacity.memory_bytes):
            raise LimitsTooLarge(
                f"a sandbox of {limits.memory_bytes // MIB} MiB does not fit into {most // MIB} MiB",
                "Ask for less memory, or use a larger machine.",
            )
        deadline, ticket = time.monotonic() + self.wait_seconds, object()
        with self._room:
            self._queue.append(ticket)
        try:
            while not self._entered(ticket, limits, deadline):
                self._make_way()
        finally:
            with self._room:
                self._queue.remove(ticket)
                self._room.notify_all()

    def _entered(self, ticket: object, limits: Limits, deadline: float) -> bool:
        """Whether there was room at last; False when a warm sandbox may be ended to make some."""
        with self._room:
            while True:
                if self._closed:
                    raise PoolClosed("the pool of sandboxes is closed", "Make a new one.")
                if self._queue[0] is ticket and self._fits(limits):
                    self._live += 1
                    self._memory += limits.memory_bytes
                    return True
                if self._queue[0] is ticket and self._warm:
                    return False
                left = deadline - time.monotonic()
                if left <= 0:
                    raise PoolExhausted(
                        f"no room for a sandbox within {self.wait_seconds:.0f} s: {self._live} are live",
                        "Use fewer workers, or limits of less memory.",
                    )
                self._room.wait(left)

    def _make_way(self) -> None:
        with self._room:
            lease = self._warm.pop(0)[2] if self._warm else None
        if lease is not None:
            lease.close()

    def _fits(self, limits: Limits) -> bool:
        room = self._memory + limits.memory_bytes <= self.capacity.memory_bytes
        return room and self._live < self.capacity.sandboxes

    def _release(self, limits: Limits) -> None:
        with self._room:
            self._live -= 1
            self._memory -= limits.memory_bytes
            self._room.notify_all()
