"""What is Docker's alone: how a container is made, what happens when engine, image or supervisor fail."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

import pytest

from selfplay.sandbox import IsolationUnavailable, Limits, SandboxError, World, open_backend
from selfplay.sandbox.docker import container, profile
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.docker.client import EngineUnavailable, ImageUnusable, connect, refused
from selfplay.sandbox.docker.labels import LABEL_HOST, LABEL_SUPERVISOR, host_identity
from selfplay.sandbox.identity import FIRST_SLOT

from .attacks import SMALL, python
from .outside import left_in_the_end, ticks, traces

pytestmark = [pytest.mark.docker, pytest.mark.slow]

GIB = 1 << 30


def test_the_hardening_is_what_the_engine_was_asked_for(docker: DockerBackend) -> None:
    with docker.open(World(), Limits(memory_bytes=GIB, cpus=1.5, processes=99)) as sandbox:
        said = docker.engine.api.inspect_container(sandbox.id)  # type: ignore[attr-defined]
    host = said["HostConfig"]
    wanted = {
        "NetworkMode": "none", "Memory": GIB, "MemorySwap": GIB, "NanoCpus": 1_500_000_000, "PidsLimit": 100,
        "ReadonlyRootfs": True, "CapDrop": ["ALL"], "CapAdd": None, "Privileged": False,
        "SecurityOpt": [*profile.security(docker.engine.machine)],
        "IpcMode": "private", "PidMode": "", "AutoRemove": True,
        "LogConfig": {"Type": "none", "Config": {}},
    }  # fmt: skip
    assert {name: host[name] for name in wanted} == wanted
    uid, _, gid = said["Config"]["User"].partition(":")
    assert uid == gid and int(uid) >= FIRST_SLOT
    assert said["Config"]["NetworkDisabled"]
    assert set(host["Tmpfs"]) == {"/testbed", "/tmp", "/dev/shm", "/home/sandbox"}
    assert all(mount["RW"] is False for mount in said["Mounts"])


SUPERVISOR = """
import sys, threading
from selfplay.sandbox import World, Limits, MIB
from selfplay.sandbox.docker.backend import DockerBackend
from selfplay.sandbox.identity import FIRST_SLOT
from selfplay.sandbox.docker.labels import labels
backend = DockerBackend()
boxes = [backend.start(World(), Limits(memory_bytes=64 * MIB)) for _ in range(int(sys.argv[1]))]
for box in boxes[1:]:
    stubborn = ("(trap '' TERM HUP; setsid sleep 300) & sleep 300",)
    threading.Thread(target=box.run, args=stubborn, kwargs={"timeout": 300}).start()
left = backend.engine.api.create_container(backend.image.name, ["true"], labels=labels())["Id"]
print(left, *(box.id for box in boxes), flush=True)
boxes[0].run("sleep 300", timeout=300)
"""


@pytest.mark.alone  # any other start sweeps too
def test_sigkill_of_the_supervisor_ends_its_containers_and_the_next_start_removes_the_rest(
    docker: DockerBackend,
) -> None:
    command = [sys.executable, "-c", SUPERVISOR, "4"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as one:
        assert one.stdout is not None
        never_started, *running = one.stdout.readline().decode().split()
        assert len(running) == 4 and {never_started, *running} <= ids(docker)
        assert docker.sweep() == ()  # its owner lives
        one.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while ids(docker) & set(running) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not ids(docker) & set(running)  # by themselves: their input ended
    assert never_started in ids(docker)
    assert DockerBackend().sweep() == ()  # the start itself swept
    assert never_started not in ids(docker)


def ids(docker: DockerBackend) -> set[str]:
    return {entry["Id"] for entry in docker.engine.api.containers(all=True)}


@pytest.mark.alone  # any other start sweeps too
def test_containers_of_other_machines_and_people_are_left_alone(docker: DockerBackend) -> None:
    api = docker.engine.api
    dead = f"{2**22 + 1}-1"  # no process has so high a number
    others = ({}, {LABEL_HOST: "another machine", LABEL_SUPERVISOR: dead})
    made = [api.create_container(docker.image.name, ["true"], labels=labels)["Id"] for labels in others]
    mine = {LABEL_HOST: host_identity(), LABEL_SUPERVISOR: dead}
    orphan = api.create_container(docker.image.name, ["true"], labels=mine)["Id"]
    try:
        assert docker.sweep() == (orphan,)
        assert set(made) <= ids(docker)
    finally:
        for id in made:
            docker.remove(id)


def test_a_container_that_vanishes_is_a_typed_error(docker: DockerBackend) -> None:
    with docker.open(World(), SMALL) as sandbox:
        of, ended = traces(docker, sandbox), ticks()
        docker.engine.api.remove_container(sandbox.id, force=True)  # type: ignore[attr-defined]
        with pytest.raises(SandboxError, match=r"the sandbox died: (its agent is gone|.*Broken pipe|.*reset)"):
            sandbox.run("true", timeout=5)
    assert left_in_the_end(of, ended) == []


def test_an_image_that_is_not_there(docker: DockerBackend) -> None:
    with pytest.raises(ImageUnusable, match=r"no image 'no/such:image'(.|\n)*docker pull no/such:image"):
        DockerBackend("no/such:image")


def test_an_image_without_python_or_bash(docker: DockerBackend) -> None:
    empty = docker.image.name  # our own: without the host's /usr there is no program in it
    with pytest.raises(IsolationUnavailable, match=r"cannot start Python(.|\n)*needs bash and a python3"):
        open_backend("docker", empty)


def test_a_runtime_the_engine_does_not_have(docker: DockerBackend) -> None:
    with pytest.raises(EngineUnavailable, match=r"no runtime 'no-such', only .*runc(.|\n)*Install gVisor"):
        DockerBackend(runtime="no-such")
    with pytest.raises(IsolationUnavailable, match="Images need `--sandbox docker`"):
        open_backend("bubblewrap", image="debian")


def test_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnavailable, match=r"no Docker engine answers(.|\n)*DOCKER_HOST(.|\n)*bubblewrap"):
        connect()
    for address in ("tcp://127.0.0.1:1", "tcp://127.0.0.1:99999", "nonsense", "ssh://nowhere"):
        monkeypatch.setenv("DOCKER_HOST", address)
        with pytest.raises(EngineUnavailable, match="no Docker engine answers"):
            connect()


def test_a_socket_without_permission(tmp_path: Path) -> None:
    place = Path(f"/tmp/selfplay-socket-{os.getpid()}")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as closed:
        closed.bind(str(place))
        place.chmod(0o600)
        code = f"import socket; socket.socket(1).connect({str(place)!r})"
        try:
            done = subprocess.run(
                ["/usr/bin/python3", "-c", code],
                user=64990 if os.getuid() == 0 else None,
                capture_output=True,
                text=True,
            )
        finally:
            place.unlink()
    assert "PermissionError" in done.stderr  # what the client meets, as the next lines have it
    from selfplay.sandbox.docker.client import unreachable

    said = unreachable(RuntimeError("('Connection aborted.', PermissionError(13, 'Permission denied'))"))
    assert "may not use the Docker engine" in said.message and "group" in said.hint


class OldEngine(ThreadingMixIn, UnixStreamServer):
    """Answers as an engine of 2018 would, on a socket of its own."""

    daemon_threads = True


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"Version": "18.06.0-ce", "ApiVersion": "1.38", "MinAPIVersion": "1.12"}')

    def log_message(self, *arguments: Any) -> None: ...

    def address_string(self) -> str:
        return "here"


@pytest.fixture
def old_engine(tmp_path: Path) -> Iterator[str]:
    place = tmp_path / "old.sock"
    with OldEngine(str(place), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"unix://{place}"
        server.shutdown()
        thread.join()


def test_an_engine_too_old(old_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", old_engine)
    with pytest.raises(EngineUnavailable, match=r"18\.06\.0-ce speaks API 1\.38, and 1\.40 is needed(.|\n)*19\.03"):
        connect()


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        ("mkdir /x: no space left on device", "EngineDiskFull", "cannot write"),
        ("open /x: read-only file system", "EngineDiskFull", "cannot write"),
        ("invalid mount config: bind source path does not exist: /x", "EngineUnavailable", "does not see"),
        ("no such image: A b: invalid reference format", "ImageUnusable", "'image' is not an image's name"),
        ("Unknown runtime specified runsc", "EngineUnavailable", "runsc"),
        (
            "connection error: desc = 'transport: Error while dialing dial unix /run/containerd.sock: connect: "
            "connection refused': unavailable",
            "EngineLost",
            "does not reach what starts its containers",
        ),
        ("ttrpc: closed: unknown", "EngineLost", "does not reach"),
        ("No such image: unavailable:latest", "MachineError", "refused"),
        ("Minimum memory limit allowed is 6MB", "MachineError", "refused: Minimum memory"),
    ],
)
def test_what_the_engine_refuses_is_named(said: str, kind: str, message: str) -> None:
    from docker.errors import APIError

    error = refused(APIError("500", explanation=said), "image")
    assert type(error).__name__ == kind and message in error.message


def test_commands_run_where_a_kernel_or_filter_knows_no_pidfd(
    docker: DockerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gVisor's kernel, and the filters of old engines."""
    host = container.host

    def filtered(plan: container.ContainerPlan) -> Any:
        made = host(plan)
        made["SecurityOpt"] = [option.replace('"pidfd_open", ', "") for option in made["SecurityOpt"]]
        return made

    monkeypatch.setattr(container, "host", filtered)
    with docker.open(World(), SMALL) as sandbox:
        assert python(sandbox, "import os; os.pidfd_open(os.getpid())").exit_code == 1
        assert sandbox.run("sleep 0.05; echo out; exit 3", timeout=10).exit_code == 3
        assert sandbox.run("yes", timeout=0.3).timed_out
