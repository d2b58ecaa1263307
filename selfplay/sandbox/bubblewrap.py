"""The embedded backend: bubblewrap, an agent process inside, no daemon, no image, no privilege needed.

A launcher process starts the sandboxes (`launcher.py` says why), an agent inside serves each (`agent.py`), and killing
that agent, pid 1 of its namespace, ends everything in it. The host's kernel is shared: against a kernel exploit only
gVisor or a virtual machine helps.
"""

import atexit
import contextlib
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

from selfplay.sandbox import cgroups, inside, machine, owners
from selfplay.sandbox.bubblewrap_sandbox import BubblewrapSandbox
from selfplay.sandbox.errors import IsolationUnavailable
from selfplay.sandbox.identity import identity, slots
from selfplay.sandbox.launching import Launcher
from selfplay.sandbox.namespace_hints import namespace_remedy
from selfplay.sandbox.probe import SECONDS, probe
from selfplay.sandbox.programs import find_programs, version
from selfplay.sandbox.protocol import Limits, Sandbox, World
from selfplay.sandbox.ulimits import check_ceilings, crashes, descriptors, raise_own

REST_SECONDS = 5.0
"""Longer than the pause between two commands of a script. Waking takes about as long as a model's first token."""


class BubblewrapBackend:
    """Starts sandboxes through one launcher process, from any number of threads.

    This class does not probe itself; `open_backend` returns a probed one. An agent rests after `rest_seconds` without a
    request; 0 means never.
    """

    name = "bubblewrap"
    image_id = ""

    def __init__(self, rest_seconds: float = REST_SECONDS) -> None:
        self.rest_seconds = rest_seconds
        raise_own()
        self.promises: tuple[str, ...] = ()
        self.identity = identity()
        self.programs = find_programs()
        self.slots = slots() if self.identity.drop else None
        self.shared_uid = self.slots is None
        self.own_files = False
        self.cgroups = cgroups.find()
        owners.sweep()
        self._launcher = Launcher(self.programs)

    def owner(self) -> tuple[int, int]:
        """(uid, gid) that must own a folder for the sandbox to write to it, whatever uid the sandbox itself has."""
        return self.identity.uid, self.identity.gid

    def versions(self) -> dict[str, str]:
        """The isolating program and its version."""
        return {"bwrap": ".".join(map(str, version(self.programs.bwrap))), "path": str(self.programs.bwrap)}

    def enforcement(self) -> dict[str, str]:
        """What enforces each limit on this machine: a control group for the whole sandbox, or a weaker limit if none
        can be created."""
        folders = self.cgroups.folders if self.cgroups else {}
        group = f"control group v{self.cgroups.version}" if self.cgroups else ""
        return {
            "memory": group if "memory" in folders else "private memory of each process alone (RLIMIT_DATA)",
            "sockets": group if "memory" in folders else "nothing",
            "processes": group if "pids" in folders else "user namespace (RLIMIT_NPROC)",
            "cpus": group if "cpu" in folders else "nothing",
            "disk": "tmpfs of that size",
            "files": "file systems of its own for programs and environments" if self.own_files else "the host's own",
            "users": "one uid for all sandboxes" if self.shared_uid else "a uid for each sandbox",
            "agent": "in no group with its commands" if folders else "shares the processors with its commands",
            "crashes": crashes(),
        }

    @property
    def python(self) -> str:
        """The interpreter inside."""
        return str(self.programs.python)

    def broken_outside(self, sandbox: BubblewrapSandbox, limits: Limits) -> str:
        """For the probe: checks the uid that the kernel reports, and the limits read back from the control group; notes
        whose file system the programs are on."""
        uid = sandbox.hello.uid
        if uid == 0 or (uid != self.identity.uid and (self.slots is None or uid not in self.slots)):
            return f"sandboxes run as uid {uid} of the host"
        if self.cgroups is not None and sandbox.group is not None:
            with_commands = sandbox.group.holds(sandbox.hello.pid)
            wrong = "the agent is in it" if with_commands else self.cgroups.mismatch(sandbox.group, limits)
            if wrong:
                return f"the control group does not hold: {wrong}"
        shown = sandbox.run(["stat", "--format=%d", "/usr"], timeout=SECONDS).stdout.strip()
        self.own_files = shown != b"%d" % Path("/usr").stat().st_dev
        return ""

    def testbed_bytes(self, limits: Limits) -> int:
        """The disk under `/testbed`: one tmpfs serves every writable folder."""
        return limits.disk_bytes

    def remedy(self) -> str:
        """What to do when no sandbox can be started."""
        return namespace_remedy()

    @contextlib.contextmanager
    def open(self, world: World, limits: Limits = Limits()) -> Iterator[Sandbox]:
        """A started sandbox, killed when the context ends. Raises `SandboxError`; `WorldRefused` names what cannot
        be mounted."""
        sandbox = self.start(world, limits)
        try:
            yield sandbox
        finally:
            sandbox.close()

    def start(self, world: World, limits: Limits = Limits()) -> BubblewrapSandbox:
        """A started sandbox, which the caller must close."""
        inside.check(world)
        machine.check(limits)
        group = self.cgroups.create(limits) if self.cgroups else None
        groups = len(group.entry_files) if group else 0
        own = self.slots.take() if self.slots else 0

        def freed() -> None:
            if group:
                group.close()
            if self.slots:
                self.slots.give_back(own)

        settings = inside.agent_settings(limits, groups, descriptors(own or self.identity.uid), self.rest_seconds)
        argv = inside.command_line(world, self.programs, settings, grouped=bool(groups))
        request = {
            "shared": self.identity.uid if self.identity.drop else 0,
            "own": own,
            "groups": group.entry_files if group else (),
            "agents": self.cgroups.agent_files if self.cgroups else (),
            "sources": inside.sources(world),
            "disk_bytes": limits.disk_bytes,
            "files": limits.files,
            "folders": len(world.folders),
            "overlaid": inside.overlaid(world),
            "argv": argv,
        }
        try:
            link, hello = self._launcher.launch(request)
            self.shared_uid |= hello.uid == self.identity.uid
            return BubblewrapSandbox(link, hello, inside.environment(world), limits, group, freed, world.own_env)
        except BaseException:
            freed()
            raise

    def close(self) -> None:
        """End the launcher and with it every sandbox."""
        self._launcher.close()
        if self.cgroups:
            self.cgroups.close()


@functools.cache
def bubblewrap_backend() -> BubblewrapBackend:
    """This process's backend, probed once. Raises `IsolationUnavailable` naming the promise that does not hold."""
    if sys.platform != "linux":
        raise IsolationUnavailable(f"bubblewrap needs Linux, and this is {sys.platform}", "Use a Linux machine.")
    check_ceilings()
    backend = BubblewrapBackend()
    try:
        backend.promises = probe(backend)
    except BaseException:
        backend.close()
        raise
    atexit.register(backend.close)
    return backend
