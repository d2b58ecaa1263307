"""Counts the core seconds of commands that are not our descendants: a container's processes belong to the engine."""

import threading

_lock = threading.Lock()
_seconds = 0.0


def add(seconds: float) -> None:
    """Add the core seconds of a command that ran elsewhere."""
    global _seconds
    with _lock:
        _seconds += seconds


def cpu_seconds() -> float:
    """Their sum since this process started. The core seconds of the engine and of the containers themselves are
    unknown."""
    return _seconds
