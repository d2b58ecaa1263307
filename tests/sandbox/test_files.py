"""Files in and out, and the tree that is private to each sandbox."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from selfplay.sandbox import MIB, Backend, InsideError, Limits, Mount, Sandbox, World, WorldRefused

from .attacks import SMALL


def test_bytes_come_back_as_they_went_in(backend: Backend) -> None:
    data = os.urandom(1 << 20) * 24  # 24 MiB: over read_file's default, over every buffer
    with backend.open(World(), Limits(disk_bytes=64 * MIB)) as sandbox:
        sandbox.write_file("deep/er/größe \n file", data)
        assert sandbox.read_file("/testbed/deep/er/größe \n file", max_bytes=len(data)) == data
        with pytest.raises(InsideError, match=r"larger than 16777216 bytes"):
            sandbox.read_file("deep/er/größe \n file")
        sandbox.write_file("deep/er/größe \n file", b"")
        assert sandbox.read_file("deep/er/größe \n file") == b""


def test_relative_paths_start_at_the_tree_whatever_ran_before(sandbox: Sandbox) -> None:
    sandbox.run("mkdir sub", timeout=10)
    assert sandbox.run("pwd", timeout=10, cwd="sub").stdout == b"/testbed/sub\n"
    sandbox.write_file("file", b"x")
    assert sandbox.run("pwd", timeout=10, cwd="sub").stdout == b"/testbed/sub\n"
    assert sandbox.read_file("file") == sandbox.read_file("/testbed/file") == b"x"
    with pytest.raises(InsideError, match="file/below: Not a directory"):
        sandbox.write_file("file/below", b"x")


def test_modes_and_owners(sandbox: Sandbox) -> None:
    sandbox.write_file("script", b"#!/bin/sh\nid -un\n", mode=0o755)
    assert sandbox.run("./script; stat -c '%a %U' script", timeout=10).stdout == b"sandbox\n755 sandbox\n"


def test_what_cannot_be_read_is_said(sandbox: Sandbox) -> None:
    sandbox.run("mkfifo pipe; mkdir folder; echo x > closed; chmod 0 closed; ln -s loop loop", timeout=10)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        sandbox.read_file("nowhere")
    with pytest.raises(InsideError, match="pipe is not a regular file"):
        sandbox.read_file("pipe")
    with pytest.raises(InsideError, match="folder"):
        sandbox.read_file("folder")
    with pytest.raises(InsideError, match="closed: Permission denied"):
        sandbox.read_file("closed")
    with pytest.raises(InsideError, match="loop: Too many levels"):
        sandbox.read_file("loop")
    with pytest.raises(InsideError, match="/usr/new: Read-only file system"):
        sandbox.write_file("/usr/new", b"")
    assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"


def test_the_tree_is_copied_on_write(backend: Backend, tree: Path) -> None:
    world = World(tree=(tree,))
    with backend.open(world, SMALL) as sandbox, backend.open(world, SMALL) as other:
        changes = "echo changed > kept; rm -r folder; mkdir folder; echo new > folder/new; rm link; chmod 600 kept"
        assert sandbox.run(changes, timeout=10).exit_code == 0
        assert sandbox.run("cat kept; ls folder", timeout=10).stdout == b"changed\nnew\n"
        assert other.run("cat kept; ls folder", timeout=10).stdout == b"original\ninner\n"
    assert (tree / "kept").read_text() == "original\n"
    assert sorted(path.name for path in tree.rglob("*")) == ["folder", "inner", "kept", "link", "shadow"]


def test_layers_are_stacked_lowest_first(backend: Backend, tmp_path: Path, give: Callable[[Path], Path]) -> None:
    layers = []
    for name in ("low", "middle", "high"):
        folder = tmp_path / name
        (folder / name).mkdir(parents=True)
        (folder / "shared").write_text(name)
        layers.append(give(folder))
    with backend.open(World(tree=tuple(layers)), SMALL) as sandbox:
        assert sandbox.run("cat shared; echo; ls", timeout=10).stdout == b"high\nhigh\nlow\nmiddle\nshared\n"


def test_deleting_everything_spares_the_host(backend: Backend, tree: Path) -> None:
    with backend.open(World(tree=(tree,)), SMALL) as sandbox:
        assert sandbox.run("rm -rf /testbed /home /tmp /etc /usr/local; ls -A /testbed", timeout=30).stdout == b""
        assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"
    with backend.open(World(tree=(tree,)), SMALL) as sandbox:
        assert sandbox.read_file("folder/inner") == b"inner\n"


def test_a_path_that_cannot_be_costs_no_sandbox(sandbox: Sandbox) -> None:
    for attempt in (lambda: sandbox.read_file("a\0b"), lambda: sandbox.write_file("a\0b", b"")):
        with pytest.raises(InsideError, match="holds a null byte"):
            attempt()
    assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"


def test_links_out_of_the_tree_lead_nowhere(backend: Backend, tree: Path) -> None:
    with backend.open(World(tree=(tree,)), SMALL) as sandbox:
        for link in ("link", "shadow"):
            with pytest.raises(FileNotFoundError):
                sandbox.read_file(link)
        assert sandbox.run("cat link shadow", timeout=10).exit_code == 1


def test_mounts_are_read_only(backend: Backend, tmp_path: Path, give: Callable[[Path], Path]) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "file").write_text("shown\n")
    give(tmp_path / "shown")
    mounts = (
        Mount(tmp_path / "shown", "/opt/deep/shown"),
        Mount(tmp_path / "shown" / "file", "/opt/one-file"),
        Mount(tmp_path / "shown", "/testbed/inner/place"),
    )
    with backend.open(World(mounts=mounts), SMALL) as sandbox:
        shown = "cat /opt/deep/shown/file /opt/one-file /testbed/inner/place/file"
        assert sandbox.run(shown, timeout=10).stdout == b"shown\n" * 3
        for place in ("/opt/deep/shown/file", "/opt/one-file", "/opt/deep/shown/new", "/opt/new"):
            assert sandbox.run(f"echo x > {place}", timeout=10).exit_code == 1
    assert (tmp_path / "shown" / "file").read_text() == "shown\n"


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (World(tree=(Path("/no/such/tree"),)), "/no/such/tree does not exist"),
        (World(tree=(Path("/etc/passwd"),)), "/etc/passwd is not a folder"),
        (World(mounts=(Mount(Path("/no/such"), "/opt"),)), "/no/such does not exist"),
        (World(mounts=(Mount(Path("/usr"), "opt"),)), "'opt' is not an absolute path"),
        (World(mounts=(Mount(Path("/usr"), "/opt/../../x"),)), "is not an absolute path"),
    ],
)
def test_a_world_that_cannot_be_is_named(backend: Backend, world: World, message: str) -> None:
    with pytest.raises(WorldRefused, match=message), backend.open(world):
        pass
