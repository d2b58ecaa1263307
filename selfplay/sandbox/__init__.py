"""Where untrusted code runs, and the only place it does."""

from selfplay.sandbox.backends import open_backend
from selfplay.sandbox.protocol import (
    MIB,
    WORKDIR,
    Backend,
    Completed,
    IsolationUnavailable,
    Limits,
    Mount,
    Sandbox,
    SandboxError,
    World,
)

__all__ = [
    "MIB",
    "WORKDIR",
    "Backend",
    "Completed",
    "IsolationUnavailable",
    "Limits",
    "Mount",
    "Sandbox",
    "SandboxError",
    "World",
    "open_backend",
]
