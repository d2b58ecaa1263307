"""A program of a build, or one that reads a source, is killed by somebody: it is run again, and nothing else is."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import stub_index
from killing import Killing, kill_inside, running
from repository_fixtures import write

from selfplay.repository import Prepared, prepare
from selfplay.repository.suites import pytest_suite
from selfplay.sandbox import Backend, SandboxLost, World
from selfplay.sandbox.kill_detection import IDLE_CHECKS, PAUSES, believed_here

FILES = {"tool.py": "VALUE = 1\n", "test_tool.py": "def test(): pass\n", "conftest.py": ""}


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of stubs, and no other."""
    (tmp_path / "index").mkdir()
    monkeypatch.setenv("UV_DEFAULT_INDEX", stub_index.make(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)


def made(backend: object, folder: Path) -> tuple[str, tuple[str, ...], list[str]]:
    """What a build makes in a new cache."""
    (folder / "cache").mkdir(parents=True)
    project = write(folder / "project", FILES)
    found: Prepared = prepare(str(project), backend=backend, cache=folder / "cache")  # type: ignore[arg-type]
    packages = sorted(path.name for mount in found.mounts for path in mount.source.rglob("*.dist-info"))
    return found.tree_hash, tuple(found.notes), packages


@pytest.mark.long
def test_a_build_is_the_same_after_kills_inside(backend: Backend, tmp_path: Path, stubs: None) -> None:
    """On the code before, reading a source said that it takes too much memory, and a step of a build that was killed
    was left out, which stayed in the cache for good."""
    wanted = made(backend, tmp_path / "quiet")
    for number, word in enumerate(("'read'", "'pip', 'install'")):
        killing = Killing(backend, running(word), kill_inside)
        assert made(killing, tmp_path / str(number)) == wanted and killing.struck == 1


@pytest.mark.slow
def test_what_is_killed_once_is_run_again(backend: Backend) -> None:
    killing = Killing(backend, running("sleep 0.5; echo"), kill_inside)
    with killing.open(World()) as sandbox:
        done = believed_here(sandbox, lambda: sandbox.run("sleep 0.5; echo done", timeout=20))
    assert done.stdout == b"done\n" and killing.struck == 1


@pytest.mark.slow
def test_what_kills_itself_every_time_is_believed(backend: Backend) -> None:
    """It says so as often as it is asked, and programs that do nothing live beside it."""
    killing = Killing(backend, lambda number, command: False)
    with killing.open(World()) as sandbox:
        done = believed_here(sandbox, lambda: sandbox.run("kill -9 $$", timeout=20), 2)
    assert done.exit_code == -9 and killing.asked == 2 + IDLE_CHECKS


@pytest.mark.slow
def test_a_command_that_closes_its_folder_kills_itself_all_the_same(backend: Backend) -> None:
    """The idle program could not start there, which was told of the machine: such a build was played again for ever."""
    with backend.open(World()) as sandbox:
        start = partial(sandbox.run, "chmod 0 /testbed; kill -9 $$", timeout=20, cwd="/")
        assert believed_here(sandbox, start, 1).exit_code == -9


def test_where_all_are_killed_nothing_is_believed(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfplay.sandbox.kill_detection.PAUSES", (0.0,) * len(PAUSES))
    killing = Killing(backend, lambda number, command: True, kill_inside)
    with killing.open(World()) as sandbox, pytest.raises(SandboxLost, match="an idle program was killed"):
        believed_here(sandbox, lambda: sandbox.run("sleep 20", timeout=30))


@pytest.mark.slow
@pytest.mark.parametrize("helper", ["mktemp", "cat 1", "cat 2", "cat 3"])
def test_a_helper_of_the_test_script_that_is_killed_ends_it_as_killed(tmp_path: Path, helper: str) -> None:
    """`cat` writes two files and shows the records. On the code before, a run without its program or its records said
    that no test passes."""
    name, _, which = helper.partition(" ")
    count = tmp_path / "count"
    killed = f"n=$(($(</dev/stdin) + 1)); echo $n >{count}; [ $n -ne {which or 1} ] || kill -9 $BASHPID"
    stub = tmp_path / "bin" / name
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/bash\n{killed} \nexec /usr/bin/{name} "$@"\n'.replace("</dev/stdin", f"<{count}"))
    stub.chmod(0o755)
    count.write_text("0")
    (tmp_path / "test_a.py").write_text("def test(): pass\n")
    env = {**os.environ, "PATH": f"{stub.parent}:{Path(sys.executable).parent}:/usr/bin:/bin"}
    script = pytest_suite.render_script(["test_a.py"])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, timeout=60)
    assert done.returncode == 137, done
