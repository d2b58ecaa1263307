"""Runs untrusted code. No other part of the package does."""

from selfplay.sandbox.backends import Isolation, open_backend
from selfplay.sandbox.errors import (
    Cause,
    InsideError,
    IsolationUnavailable,
    MachineError,
    SandboxError,
    SandboxGone,
    SandboxLost,
    WorldRefused,
)
from selfplay.sandbox.protocol import (
    MIB,
    WORKDIR,
    Backend,
    Completed,
    Limits,
    Mount,
    Sandbox,
    World,
)

__all__ = [
    "MIB",
    "WORKDIR",
    "Backend",
    "Cause",
    "Completed",
    "InsideError",
    "Isolation",
    "IsolationUnavailable",
    "Limits",
    "MachineError",
    "Mount",
    "Sandbox",
    "SandboxError",
    "SandboxGone",
    "SandboxLost",
    "World",
    "WorldRefused",
    "open_backend",
]
