"""A build's only network access: a unix socket, served by our proxy, which allows the package indexes.

Sandboxes have no network. The socket is mounted into the build's sandbox; inside, `inside/egress.py` forwards a port of
the sandbox's loopback to it. If a sandbox cannot use a socket of this machine (an engine on another machine, gVisor
without `--host-uds=open`), the build goes on without network, and says so.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from selfplay.formatting import Say
from selfplay.repository import inside
from selfplay.repository.errors import BuildFailed
from selfplay.repository.network.credentials import all_secrets, npm_variables, take_out
from selfplay.repository.network.go_proxies import GoProxies, go_proxies
from selfplay.repository.network.hosts import Allowed, npm_registry
from selfplay.repository.network.index_pages import allowed_for
from selfplay.repository.network.indexes import Indexes, configured
from selfplay.repository.network.proxy import Proxy
from selfplay.repository.network.upstream import HEAD_BYTES
from selfplay.sandbox import Backend, InsideError, Limits, Mount, Sandbox, SandboxError, World
from selfplay.sandbox.kill_detection import believed_here, unless_starved
from selfplay.sandbox.machine import fitting
from selfplay.sandbox.owners import scratch

SOCKET, FORWARDER = "/build/egress.sock", "/build/egress.py"
HELP = "an engine on another machine cannot, and gVisor only with `--host-uds=open`"
SECONDS = 20.0
"""Seconds for testing the access, and for ending it."""
SO_PASSRIGHTS = 83  # linux/socket.h


@dataclass
class Egress:
    """Network access of a build. `kept`: indexes whose credentials the build gets. `why_not`: why commands have no
    access; empty if they have. `socket` is None if none is needed. `folders`: local ones that its indexes are."""

    proxy: Proxy
    socket: Path | None
    forwarder: tuple[str, ...]
    indexes: Indexes = field(default_factory=Indexes)
    env: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    why_not: str = ""
    folders: tuple[Mount, ...] = ()
    _logged: set[str] = field(default_factory=set)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """The mounts of the build's sandbox."""
        shown = Mount(inside.path("egress.py"), FORWARDER)
        return (Mount(self.socket, SOCKET), shown, *self.folders) if self.socket else ()

    def check(self, sandbox: Sandbox) -> None:
        """Check whether commands of this sandbox have access; else set `why_not`."""
        done = believed_here(sandbox, lambda: sandbox.run(self.forwarder, timeout=SECONDS, cwd="/", merge_stderr=True))
        unless_starved(done, "the forwarder", SECONDS)
        if done.exit_code:
            said = done.text.strip().rpartition("\n")[2]
            self.why_not = f"its sandbox cannot use a socket of this machine ({said[:200]}; {HELP})"

    def leading(self, command: str | Sequence[str]) -> Sequence[str]:
        """The command, run with network access."""
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        return argv if self.why_not else [*self.forwarder, *argv]

    def first_line(self) -> str:
        """The line for the user before a build: which hosts it may reach."""
        if self.why_not:
            return f"the build reaches no package index: {self.why_not}"
        return f"the build may reach {self.proxy.allowed}, and nothing else"

    def log_line(self) -> str:
        """For the build's log: requests refused and failed since the last line."""
        lines = [f"refused: {sentence}\n" for sentence in list(self.proxy.refused.values())]
        lines += [f"failed: {why}\n" for why in list(self.proxy.failed.values())]
        fresh = [line for line in lines if line not in self._logged]
        self._logged.update(fresh)
        return "".join(fresh)

    def advice(self) -> str:
        """Explains refused and failed requests, and what to do; empty if there are none."""
        lines = [f"The build reached no package index: {self.why_not}."] if self.why_not and self.socket else []
        if self.proxy.refused:
            asked = [str(address) for address in sorted(self.proxy.refused)[:5]]
            options = " ".join(f"--allow-host {address}" for address in asked)
            lines.append(f"The build asked for {', '.join(asked)}, where it may not go; if you trust that: {options}.")
        return " ".join([*lines, *(f"No index answered there: {why}." for why in list(self.proxy.failed.values())[:2])])

    @contextmanager
    def explained(self, sandbox: Sandbox, say: Say, notes: list[str]) -> Iterator[None]:
        """Runs around a build's steps: first says which hosts they may reach; afterwards names refused hosts in the
        error or a note."""
        if self.socket:
            self.check(sandbox)
            say(self.first_line())
            for index in self.proxy.allowed.unread:
                say(f"no page of the index {index}: builds may not know all hosts of its files")
            for index in self.kept:
                say(
                    f"the build gets the credentials of {index}, whose pages name files by https: use a read-only token"
                )
        try:
            yield
        except BuildFailed as error:
            raise BuildFailed(error.message, " ".join(filter(None, (self.advice(), error.hint)))) from error
        if self.proxy.refused:
            notes.append(self.advice())


def no_egress() -> Egress:
    """No access, for a build that installs nothing."""
    return Egress(Proxy(Allowed()), None, (), why_not="it installs nothing")


@contextmanager
def open_egress(
    backend: Backend, hosts: Sequence[str] = (), *, npm: bool = False, go: bool = False
) -> Iterator[Egress]:
    """Give access to the configured indexes and to `hosts` (as for `--allow-host`), until the context ends.

    `npm`, `go`: also to npm's registry, to the proxies of Go's modules. Raises `SourceError` for a text that is not a
    host."""
    registry, indexes = npm_registry() if npm else None, configured()
    modules = go_proxies() if go else GoProxies()
    registries = [*([registry] if registry else []), *modules.urls]
    allowed = allowed_for(indexes, hosts, os.environ, registries=registries)
    taken = take_out(indexes, os.environ)
    npm_env, npm_secrets = npm_variables(registry)
    forwarder = (backend.python, "-I", "-S", "-B", FORWARDER, SOCKET)
    serving_all = Proxy(allowed, all_secrets(taken.secrets, npm_secrets, modules.secrets))
    with scratch() as folder, serving(serving_all, folder / "egress.sock", backend.owner()) as proxy:
        env = {**taken.env, **npm_env, **modules.env}
        yield Egress(proxy, folder / "egress.sock", forwarder, taken.inside, env, taken.kept, folders=modules.folders)


@contextmanager
def serving(proxy: Proxy, place: Path, owner: tuple[int, int]) -> Iterator[Proxy]:
    """Serve the proxy on a unix socket that only `owner` may use, in a thread that ends with the context."""
    listener = _listener(place, owner)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    serving: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = loop.create_task(proxy.serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    async def serve() -> None:
        server = await asyncio.start_unix_server(accept, sock=listener, limit=HEAD_BYTES)
        await stop.wait()
        server.close()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())  # at its end, open connections are cancelled

    thread = threading.Thread(target=run, name="selfplay-egress", daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(SECONDS)  # a name look-up cannot be interrupted


def _listener(place: Path, owner: tuple[int, int]) -> socket.socket:
    """A listening unix socket. Its folder is named by a descriptor, because a socket's path may have only 107 bytes."""
    listener = socket.socket(socket.AF_UNIX)
    with suppress(OSError):  # Linux 6.16; of a descriptor that a build sends, we would have to wait for the end
        listener.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{place.name}")
        place.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(place, *owner)
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener


def examine_egress(backend: Backend) -> str:
    """One line for `doctor`: which hosts builds may reach on this backend, or why none."""
    try:
        with open_egress(backend) as egress:
            with backend.open(World(mounts=egress.mounts), fitting(Limits())) as sandbox:
                egress.check(sandbox)
            return egress.first_line()
    except (SandboxError, InsideError) as error:
        return f"the build reaches no package index: {error.message}"
