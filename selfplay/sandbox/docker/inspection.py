"""Compares what the engine says that it made with what it was asked for.

An engine may leave out what it does not know. And with a user's image nothing that a program inside says is evidence,
since the interpreter is the image's.
"""

from collections.abc import Iterator
from typing import Any

from selfplay.sandbox.docker import profile
from selfplay.sandbox.docker.layers import PAGE
from selfplay.sandbox.protocol import Limits
from selfplay.sandbox.ulimits import descriptors


def differences(said: dict[str, Any], about: dict[str, Any], machine: str, limits: Limits) -> Iterator[str]:
    """What is not as requested, in words. `said`: of a container whose tree has one page, like the probe's; `about`: of
    the engine."""
    host, uid = said["HostConfig"], said["Config"]["User"].partition(":")[0]
    wanted = {"ReadonlyRootfs": True, "Privileged": False, "PidsLimit": limits.processes + 1, "NetworkMode": "none"}
    yield from (f"{name} is {host[name]}" for name, value in wanted.items() if host[name] != value)
    if uid in ("", "0"):
        yield "it runs as root"
    yield from (str(line) for line in about.get("Warnings") or () if "No memory limit" in line or "No pids" in line)
    options = host.get("SecurityOpt") or ()
    if any(option not in options for option in profile.security(machine)):
        yield "the system-call filter is not the requested one"
    if not any("seccomp" in option for option in about.get("SecurityOptions") or ()):
        yield "it applies no system-call filters"
    asked = profile.ulimits(limits.disk_bytes + PAGE, descriptors(int(uid or 0)))
    made = {limit["Name"]: (limit["Soft"], limit["Hard"]) for limit in host.get("Ulimits") or ()}
    yield from (
        f"the limit {name} is {made.get(name)}" for name, most in asked.items() if made.get(name) != (most, most)
    )
    kept = [mount["Destination"] for mount in said["Mounts"] if mount["Type"] == "volume"]
    yield from (f"it keeps {place} on the host's disk" for place in kept)
