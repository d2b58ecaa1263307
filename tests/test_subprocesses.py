"""Programs of this machine are started with nothing of the folder a user stands in: it may be a stranger's checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_fixtures import Command, selfplay, together

from selfplay import subprocesses
from selfplay.repository.network import indexes

__all__ = ["selfplay", "together"]
MODULES = ("pip/__init__", "pip/__main__", "json", "string", "typing", "subprocess", "sitecustomize", "usercustomize",
           "uv", "selfplay", "git", "docker", "rich", "pydantic")  # fmt: skip
PROGRAMS = ("git", "bwrap", "npm", "node", "rm", "chmod", "sh", "ssh", "python3", "uv", "tar")


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A folder whose modules and programs say so, in `SEEN`, when they run."""
    folder, seen = tmp_path / "poisoned", tmp_path / "SEEN"
    for name in MODULES:
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"open({str(seen)!r}, 'a').write({name!r} + '\\n')\n")
    for name in PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {seen}\n")
        (folder / name).chmod(0o755)
    return folder


def test_what_lies_in_the_current_folder_is_no_input(
    poisoned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(poisoned)
    monkeypatch.setenv("PATH", f".:{os.pathsep}{os.environ['PATH']}{os.pathsep}")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    indexes.configured()
    assert subprocesses.run([*subprocesses.PYTHON, "-c", "import json, string"], timeout=20).returncode == 0
    assert subprocesses.run(["git", "--version"], timeout=20).stdout.startswith(b"git version")
    with subprocesses.start(["rm", "--version"], stdout=subprocesses.PIPE) as process:
        assert process.communicate()[0].startswith(b"rm (GNU")
    assert subprocesses.find("npm") != "./npm" and Path(subprocesses.find("git") or "").is_absolute()
    assert not (tmp_path / "SEEN").exists(), (tmp_path / "SEEN").read_text()


def test_the_guard_sees_what_an_unsafe_start_would_run(poisoned: Path, tmp_path: Path) -> None:
    """As `test_what_lies_in_the_current_folder_is_no_input` cannot fail for want of a trap."""
    import subprocess

    subprocess.run([sys.executable, "-m", "pip"], cwd=poisoned, env={"PATH": "/usr/bin:/bin"}, check=False)
    subprocess.run(["git"], cwd=poisoned, env={"PATH": f".:{os.environ['PATH']}"}, check=False)
    assert {"pip/__main__", "git"} <= set((tmp_path / "SEEN").read_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["doctor", "show .", "validate .", "curriculum . --bugs 1 --patience 1"])
def test_no_command_runs_what_lies_where_it_is_typed(
    selfplay: Command, poisoned: Path, tmp_path: Path, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command itself is started without the current folder on its path, as its script does."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    with selfplay.running(*asked.split(), cwd=poisoned) as running:
        running.process.communicate(timeout=200)
    assert not (tmp_path / "SEEN").exists(), (tmp_path / "SEEN").read_text()


def test_variables_that_name_another_repository_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from selfplay.repository.fetching.gitdir import GitDir

    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "not quoted")
    store = GitDir.create(tmp_path / "store")
    assert store.line("rev-parse", "--is-bare-repository") == "true"


LIMITED = """
import os, resource, sys
from selfplay.subprocesses import can_start
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(54321), os.setuid(54321)
print(can_start(16))
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
print(can_start(16))
"""


def test_a_machine_without_a_process_left_says_so() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", LIMITED], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.split() == ["True", "False"]
