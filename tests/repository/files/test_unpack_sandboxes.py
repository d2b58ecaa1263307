"""Trees that come out of real sandboxes, of both backends: bombs, files in the place of folders, owners."""

from pathlib import Path

import pytest
from repository.files.unpacking import SMALL

from selfplay.repository.errors import TooLarge
from selfplay.repository.files.unpack import Inside, StreamBounds, bring_out
from selfplay.sandbox import MIB, Backend, InsideError, Limits, World, open_backend

LIMITS = Limits(memory_bytes=256 * MIB, disk_bytes=64 * MIB)


@pytest.fixture(scope="module", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def each_backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(request.param)


HOSTILE = """
import os
os.makedirs("a/b")
for number in range(10): open(f"a/b/big{number}", "wb").truncate(60 << 20)
"""
DEEP = """
import os
for _ in range(300):
    os.mkdir("deep"); os.chdir("deep")
"""
LINKED = """
import os
open("first", "wb").write(bytes(100_000))
for number in range(2000): os.link("first", f"link{number}")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "message"), [(HOSTILE, "more than 32 MiB"), (DEEP, "101 deep"), (LINKED, "more than 32 MiB")]
)
def test_bombs_in_a_sandbox_come_out_as_errors(
    each_backend: Backend, tmp_path: Path, program: str, message: str
) -> None:
    bounds = StreamBounds(bytes=32 * MIB, entries=10_000)
    with each_backend.open(World(folders=("/env",)), LIMITS) as sandbox:
        python = each_backend.python
        assert sandbox.run([python, "-c", program], timeout=60, cwd="/env").exit_code == 0
        with pytest.raises(TooLarge, match=message):
            bring_out(Inside(sandbox, "/env", python), tmp_path, bounds)
        assert sandbox.run("echo alive", timeout=10).stdout == b"alive\n"


@pytest.mark.parametrize("command", ["rm -rf x; ln -s /etc x", "rm -rf x; touch x", "rm -rf x", "rm -rf x; mkfifo x"])
def test_a_folder_that_is_none_is_an_error(each_backend: Backend, tmp_path: Path, command: str) -> None:
    with each_backend.open(World(), LIMITS) as sandbox:
        sandbox.run(command, timeout=10)
        with pytest.raises(InsideError, match="exited 1"):
            bring_out(Inside(sandbox, "/testbed/x", each_backend.python), tmp_path, SMALL)
    assert list(tmp_path.iterdir()) == []


def test_what_comes_out_belongs_to_whom_it_is_given(each_backend: Backend, tmp_path: Path) -> None:
    with each_backend.open(World(folders=("/env",)), LIMITS) as sandbox:
        sandbox.run("cd /env; mkdir a; touch a/b; ln -s b a/c", timeout=10)
        bring_out(Inside(sandbox, "/env", each_backend.python), tmp_path, SMALL, owner=each_backend.owner())
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in tmp_path.rglob("*")}
    assert owners == {each_backend.owner()}
    assert len(list(tmp_path.rglob("*"))) == 3
