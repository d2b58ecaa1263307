"""Core seconds of commands whose processes are not below ours: a container's belong to the engine."""

import threading

_lock = threading.Lock()
_seconds = 0.0


def add(seconds: float) -> None:
    """A command that ran elsewhere used so many core seconds."""
    global _seconds
    with _lock:
        _seconds += seconds


def cpu_seconds() -> float:
    """All of them since this process began; what engine and containers themselves used is not known."""
    return _seconds
