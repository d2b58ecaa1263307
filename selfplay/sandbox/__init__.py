"""Runs untrusted code. No other part of the package does."""

from selfplay.sandbox.backends import Isolation, open_backend
from selfplay.sandbox.protocol import (
    MIB,
    WORKDIR,
    Backend,
    Cause,
    Completed,
    IsolationUnavailable,
    Limits,
    Mount,
    Sandbox,
    SandboxError,
    SandboxGone,
    SandboxLost,
    World,
)

__all__ = [
    "MIB",
    "WORKDIR",
    "Backend",
    "Cause",
    "Completed",
    "Isolation",
    "IsolationUnavailable",
    "Limits",
    "Mount",
    "Sandbox",
    "SandboxError",
    "SandboxGone",
    "SandboxLost",
    "World",
    "open_backend",
]
