"""What a run costs, in wall seconds, core seconds, and runs of the suite's own worth."""

import contextlib
import time
from typing import Any

import psutil

from selfplay.repository import Suite
from selfplay.sandbox import elsewhere


def cpu_seconds() -> float:
    """User and system seconds of this process, its live descendants, all they have reaped (dead sandboxes), and the
    commands that ran in containers."""
    total = elsewhere.cpu_seconds()
    own = psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


class Meter:
    """Laps of wall and core seconds."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), cpu_seconds()
        self._laps: dict[str, dict[str, float]] = {}

    def lap(self, name: str) -> None:
        """End the lap `name`: what was spent since the last one is its."""
        wall, cpu = time.monotonic(), cpu_seconds()
        self._laps[name] = {"wall_seconds": round(wall - self._wall, 3), "core_seconds": round(cpu - self._cpu, 3)}
        self._wall, self._cpu = wall, cpu

    def report(self, suite: Suite) -> dict[str, Any]:
        """The laps, with the core seconds of making bugs also in runs of the suite."""
        made = self._laps.get("bugs", {}).get("core_seconds", 0.0)
        runs = round(made / suite.cpu_seconds, 2) if suite.cpu_seconds else None
        return {**self._laps, "suite_core_seconds": round(suite.cpu_seconds, 3), "suite_runs_worth": runs}
