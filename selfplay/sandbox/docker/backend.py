"""The production backend: one hardened container per sandbox. The agent is its first process; commands do not go
through the engine.

The agent is the container's own main process, not started by `exec` beside an init. As pid 1 it cannot be killed or
stopped from inside, it reaps processes that commands leave behind, and it ends when its input does. So a container
lives exactly as long as the other end of the stream is open: killing the supervisor with SIGKILL ends its containers
too, and the engine removes them. If a crash still leaves a container, the next supervisor finds it by its label.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import IO

from docker.errors import APIError, NotFound
from requests.exceptions import RequestException

from selfplay.sandbox import inside, machine, owners
from selfplay.sandbox.docker import container, image, inspection, sockets
from selfplay.sandbox.docker.bootstrap import program
from selfplay.sandbox.docker.client import Engine, EngineUnavailable, connect, patiently, translated
from selfplay.sandbox.docker.entering import enter
from selfplay.sandbox.docker.labels import LABEL_HOST, LABEL_SUPERVISOR, host_identity, labels
from selfplay.sandbox.docker.layers import PAGE, MergedTree, merge
from selfplay.sandbox.docker.live import DockerSandbox
from selfplay.sandbox.docker.stream import AttachedLink
from selfplay.sandbox.docker.users import Users
from selfplay.sandbox.errors import SandboxLost
from selfplay.sandbox.identity import identity
from selfplay.sandbox.live import GRACE_SECONDS
from selfplay.sandbox.protocol import WORKDIR, Limits, Sandbox, World
from selfplay.sandbox.ulimits import raise_own

log = logging.getLogger(__name__)


class DockerBackend:
    """Starts containers, from any number of threads. This class does not probe itself; `open_backend` returns a probed
    one.

    `image_name`: a user's image instead of the machine's own programs. `runtime`: a runtime other than the engine's
    default, such as gVisor's `runsc`.
    """

    name = "docker"

    def __init__(self, image_name: str | None = None, runtime: str | None = None) -> None:
        raise_own()
        self.promises: tuple[str, ...] = ()
        self.engine: Engine = connect()
        self.sockets_limited = self.engine.cgroup_version == "1" and os.geteuid() == 0
        if runtime is not None and runtime not in self.engine.runtimes:
            raise EngineUnavailable(
                f"the Docker engine has no runtime {runtime!r}, only {', '.join(self.engine.runtimes)}",
                "Install gVisor and register `runsc` with the engine.",
            )
        self.identity = identity()
        self.users = Users(self.engine, self.identity)
        self.runtime = runtime
        self._open: set[DockerSandbox] = set()
        self._lock = threading.Lock()
        self.sweep()
        owners.sweep()
        owner = self.owner()
        self.image = image.named(self.engine, image_name, owner) if image_name else image.system(self.engine, owner)
        self._called = image_name or self.image.name

    def owner(self) -> tuple[int, int]:
        """(uid, gid) that must own a folder for the sandbox to write to it, whatever uid the sandbox itself has."""
        return self.identity.uid, self.identity.gid

    def versions(self) -> dict[str, str]:
        """The isolating program and its version."""
        engine = self.engine
        return {
            "engine": engine.version,
            "api": engine.api_version,
            "runtime": self.runtime or "the engine's default",
            "runtimes": ", ".join(engine.runtimes),
            "storage": engine.storage,
            "image": self.image.name,
        }

    def enforcement(self) -> dict[str, str]:
        """What enforces each limit."""
        group = f"control group v{self.engine.cgroup_version}, made by the engine"
        apart = "control group v1, set beside the engine" if self.sockets_limited else "nothing"
        return {
            "memory": group,
            "sockets": group if self.engine.cgroup_version == "2" else apart,
            "processes": group,
            "cpus": group,
            "disk": "one tmpfs for each writable place",
            "files": "the host's own"
            if self.image.ours
            else "an overlay of the engine for programs, else the host's own",
            "users": "a uid for each sandbox" if self.users.apart else "one uid for all sandboxes",
            "agent": "shares the memory and the processors of its commands",
            "crashes": "nothing is written, and no handler of the host's is started",
        }

    @property
    def python(self) -> str:
        """The interpreter inside."""
        return self.image.python

    @property
    def image_id(self) -> str:
        """The id of a user's image; empty if containers run this machine's own programs."""
        return "" if self.image.ours else self.image.id

    def source_places(self) -> tuple[str, ...]:
        """Folders of the image that may contain a source, most likely first."""
        return image.source_places(self.engine, self.image)

    def copy_out(self, place: str) -> IO[bytes] | None:
        """A folder of the image as a tar archive; None if the image has no such folder."""
        return image.copy_out(self.engine, self.image, place)

    def hide(self, place: str) -> None:
        """Make `place` a link to `/testbed` in every later sandbox, so that the image's own copy is never visible."""
        if place != WORKDIR:
            self.image = image.hidden(self.engine, self.image, place, self.owner())

    def broken_outside(self, sandbox: DockerSandbox, limits: Limits) -> str:
        """For the probe: checks what the engine reports it made, which may differ from the request."""
        with translated():
            said = self.engine.api.inspect_container(sandbox.id)
            about = self.engine.api.info()
        wrong = next(inspection.differences(said, about, self.engine.machine, limits), "")
        return wrong and f"the engine does not isolate as requested: {wrong}"

    def testbed_bytes(self, limits: Limits) -> int:
        """The size of the tmpfs on `/testbed`; the probe's tree has one page."""
        return int(limits.disk_bytes * container.SHARES[WORKDIR]) + PAGE

    def remedy(self) -> str:
        """What to do when no container can be started."""
        return "Look at the engine's log, or use `--sandbox bubblewrap`."

    @contextlib.contextmanager
    def open(self, world: World, limits: Limits = Limits()) -> Iterator[Sandbox]:
        """A started sandbox, killed when the context ends. Raises `SandboxError`; `WorldRefused` names what cannot
        be mounted."""
        sandbox = self.start(world, limits)
        try:
            yield sandbox
        finally:
            sandbox.close()

    def start(self, world: World, limits: Limits = Limits()) -> DockerSandbox:
        """A started sandbox, which the caller must close."""
        inside.check(world)
        machine.check(limits)
        merged = merge(world.tree)
        uid = self.users.take(world)
        try:
            id = self._created(world, limits, merged, uid)
            try:
                link = self._entered(id, merged, limits)
            except BaseException:
                self.remove(id)
                raise
        except BaseException:
            self.users.give_back(uid)
            raise

        def end(id: str) -> None:
            self.remove(id)
            self.users.give_back(uid)

        env = inside.environment(World(env={**self.image.env, "HOME": inside.HOME, **world.env}))
        sandbox = DockerSandbox(self.engine, id, link, env, limits, end, world.own_env)
        with self._lock:
            self._open.add(sandbox)
        return sandbox

    def close(self) -> None:
        """End every live sandbox."""
        with self._lock:
            left, self._open = self._open, set()
        for sandbox in left:
            sandbox.close()
        self.users.close()

    def remove(self, id: str) -> None:
        """Kill a container and wait until it and its processes are gone."""
        with self._lock:
            self._open = {sandbox for sandbox in self._open if sandbox.id != id}
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            try:
                self.engine.api.remove_container(id, force=True, v=True)
            except NotFound:
                return
            except APIError as error:  # the engine is removing it already
                log.debug("removing %s: %s", id[:12], error)
            except RequestException as error:
                log.warning("the engine does not answer, so %s could not be removed: %s", id[:12], error)
                return
            time.sleep(0.005)
        log.warning("the container %s is still there after %.0f s", id[:12], GRACE_SECONDS)

    def sweep(self) -> tuple[str, ...]:
        """Remove the containers of dead supervisors of this machine; returns their ids."""
        mine = {"label": [f"{LABEL_HOST}={host_identity()}"]}
        with translated():
            found = self.engine.api.containers(all=True, filters=mine)
        owned = [(entry["Id"], entry["Labels"].get(LABEL_SUPERVISOR)) for entry in found]
        orphans = tuple(id for id, owner in owned if owner and owners.dead(owner))
        for id in orphans:
            self.remove(id)
        return orphans

    def _created(self, world: World, limits: Limits, merged: MergedTree, uid: int) -> str:
        """The id of a new container that is not yet started."""
        engine = container.UsedEngine(self.engine.api_version, self.engine.machine, self.runtime)
        accounts = self.users.files(self.image, uid)
        plan = container.ContainerPlan(world, limits, self.image, (uid, uid), merged, engine, labels(), accounts)
        settings = container.settings(plan)
        with translated(self._called):
            return str(patiently(lambda: self.engine.api.create_container(**settings))["Id"])

    def _entered(self, id: str, merged: MergedTree, limits: Limits) -> AttachedLink:
        """The stream to the agent of a new container. Raises `MachineError` with its output."""
        with translated(self._called):
            link = enter(self.engine, id, program(self.engine.machine, self.image.ours), merged)
            try:
                if self.sockets_limited:
                    pid = self.engine.api.inspect_container(id)["State"]["Pid"]
                    if not pid:  # it has ended, which says nothing of others
                        raise SandboxLost("its container ended while it was made")
                    self.sockets_limited = sockets.limit(id, pid, limits.socket_bytes)
            except BaseException:
                link.close()
                raise
        return link
