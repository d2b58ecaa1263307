"""Files and folders that cannot be read, or are not what is asked for: one message that says what to do."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cli.refusals import refused
from mounted_places import ended
from run_fixtures import Command, Done


@pytest.mark.slow
def test_a_folder_where_a_file_is_expected(selfplay: Command, run: Path, tmp_path: Path) -> None:
    bug = sorted((run / "bugs").iterdir())[0]
    refused(selfplay("grade", bug, "--patch", tmp_path), f"{tmp_path} is not a regular file")
    refused(selfplay("grade", run, "--predictions", tmp_path), f"{tmp_path} is not a regular file")
    (tmp_path / "lessons.jsonl").mkdir()
    done = selfplay("trajectories", "export", run, "--out", tmp_path / "lessons.jsonl")
    refused(done, "Is a directory", "name a file")


@pytest.mark.slow
def test_a_file_where_a_folder_is_expected(selfplay: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no trajectory")
    refused(selfplay("show", tmp_path / "file"), "file is no")
    for command in ("validate", "solve", "audit"):
        refused(selfplay(command, tmp_path / "file"), f"{tmp_path}/file")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["bug.json", "bug_inject.diff", "trajectory", "curriculum.sqlite"])
def test_what_cannot_be_read(selfplay: Command, finished: tuple[Path, Done], what: str) -> None:
    """As another user where the tests run as root, who may read everything."""
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to others
        Path(folder).chmod(0o755)
        check_unreadable(selfplay, Path(shutil.copytree(finished[0], Path(folder, "run"))), what)


def check_unreadable(selfplay: Command, run: Path, what: str) -> None:
    run.chmod(0o755)
    bug = sorted((run / "bugs").iterdir())[0]
    file = {"trajectory": run / "trajectories" / "000000-injector.jsonl.zst", "curriculum.sqlite": run / what}.get(
        what, bug / what
    )
    file.chmod(0)
    shown = {"trajectory": file, "curriculum.sqlite": run}.get(what, bug)
    done = as_an_ordinary_user(selfplay, "show", shown)
    if what == "trajectory":  # the path that was given: refused as an argument
        assert done.code == 2 and f"{file.name}' is not readable" in done.err and "Traceback" not in done.err
    else:
        refused(done, file.name, "Permission denied")


def as_an_ordinary_user(command: Command, *arguments: object) -> Done:
    if os.geteuid() != 0:
        return command(*arguments)
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not here")
    drop = ("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups")
    if subprocess.run([*drop, sys.executable, "-c", "import selfplay.cli"], capture_output=True).returncode:
        pytest.skip("another user cannot run this interpreter")
    return ended([*drop, sys.executable, "-m", "selfplay", *map(str, arguments)], command)


@pytest.mark.parametrize("command", ["show", "validate", "grade", "audit", "solve", "world", "report", "eval"])
def test_a_long_path_under_a_missing_folder(selfplay: Command, tmp_path: Path, command: str) -> None:
    long = tmp_path.joinpath(*["x" * 210] * 4)
    more = {"grade": ("--patch", __file__), "world": ("--out", tmp_path / "out")}.get(command, ())
    refused(done := selfplay.here(command, long, *more))
    assert "x" * 100 + "..." not in done.err and "x" * 211 not in done.err and "..." in done.err, done.err


@pytest.mark.parametrize("command", ["curriculum", "train"])
def test_a_binary_file(selfplay: Command, tmp_path: Path, command: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"\x89PNG\xff")
    refused(selfplay.here(command, tmp_path / "a.txt"), "a.txt cannot be read: it is not UTF-8 text", "Name a")


@pytest.mark.parametrize(
    ("name", "of"), [("summary.json", "a run"), ("bug.json", "a bug"), ("curriculum.sqlite", "a run")]
)
def test_a_file_of_ours_that_is_no_trajectory(selfplay: Command, tmp_path: Path, name: str, of: str) -> None:
    (tmp_path / name).write_text('{\n "bugs": 1\n}')
    done = selfplay.here("show", tmp_path / name)
    refused(done, f"{name} is a file of {of}", "Name its folder.")
