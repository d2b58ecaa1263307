"""What a run costs: wall seconds, core seconds, and the equivalent number of runs of the repository's test suite."""

import time
from collections.abc import Callable
from typing import Any

import psutil

from selfplay.curriculum import Curriculum
from selfplay.repository import Suite
from selfplay.sandbox import container_cpu

EVERY = 10.0
"""Seconds of the account that a kill may lose."""
MOST_READINGS = 5
"""How often processes are read again because one ended meanwhile."""


def cpu_seconds() -> float:
    """User and system seconds of this process, its live descendants, its reaped descendants (dead sandboxes), and the
    commands that ran in containers."""
    readings = list[float]()
    for _ in range(MOST_READINGS):
        seconds, whole = _processes_seconds()
        readings.append(seconds)
        if whole:
            break
    return container_cpu.cpu_seconds() + max(readings)


def _processes_seconds() -> tuple[float, bool]:
    """The seconds of the processes, and whether all were read. What is reaped after its parent was read and before it
    is read itself is in neither's seconds."""
    own, total, whole = psutil.Process(), 0.0, True
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            whole = False
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total, whole


class CostMeter:
    """Wall and core seconds by phase, stored in the pool as they are spent: a resumed run continues counting. `cores`:
    the core seconds until now, without those of other machines."""

    def __init__(self, pool: Curriculum, phase: str = "prepare", cores: Callable[[], float] = cpu_seconds) -> None:
        self._pool, self._phase, self._cores = pool, phase, cores
        self._wall, self._cpu = time.monotonic(), cores()

    def begin(self, phase: str) -> None:
        """End the previous phase, and charge the time from now on to `phase`."""
        self.store()
        self._phase = phase

    def tick(self) -> None:
        """Store the time spent, at most every `EVERY` seconds: this reads every process and blocks the event loop."""
        if time.monotonic() - self._wall >= EVERY:
            self.store()

    def store(self) -> None:
        """Charge the time until now to the phase."""
        wall, cpu = time.monotonic(), self._cores()
        self._pool.add_cost(self._phase, wall - self._wall, max(0.0, cpu - self._cpu))
        self._wall, self._cpu = wall, cpu


def phases(pool: Curriculum) -> dict[str, Any]:
    """The seconds of each phase, summed over all resumptions."""
    return {
        phase: {"wall_seconds": round(wall, 3), "core_seconds": round(core, 3)}
        for phase, (wall, core) in pool.costs().items()
    }


def cost_report(pool: Curriculum, suite: Suite) -> dict[str, Any]:
    """The seconds of each phase, and those of making bugs expressed in runs of the suite."""
    made = pool.costs().get("bugs", (0.0, 0.0))[1]
    runs = round(made / suite.cpu_seconds, 2) if suite.cpu_seconds else None
    return {**phases(pool), "suite_core_seconds": round(suite.cpu_seconds, 3), "suite_runs_worth": runs}
