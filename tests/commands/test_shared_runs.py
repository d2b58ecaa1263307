"""A run that somebody shares: what it wants is asked for, what is built from it stays apart, and an own run is not
bothered."""

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from copied_runs import copy_of
from run_fixtures import Command, Done

from selfplay import patches
from selfplay.artifact import load, load_bug
from selfplay.curriculum.calibrations import CALIBRATION_FILE


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another user's state folder: this one made no run and allowed nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield tmp_path / "state"


@pytest.fixture
def run(finished: tuple[Path, Done], tmp_path: Path) -> Path:
    return copy_of(finished[0], tmp_path / "run")


def first_bug(run: Path) -> Path:
    return sorted((run / "bugs").iterdir())[0]


def environments(selfplay: Command) -> set[str]:
    """The finished ones: others build beside this test."""
    return {path.name for path in (selfplay.cache / "environments").glob("[!.]*") if path.is_dir()}


def change(bug: Path, edit: Callable[[dict[str, object]], None]) -> None:
    value = json.loads((bug / "bug.json").read_text())
    edit(value["environment"])
    (bug / "bug.json").write_text(json.dumps(value))


@pytest.mark.slow
def test_checking_a_run_right_after_it_was_made_builds_nothing(selfplay: Command, run: Path) -> None:
    lock = load_bug(first_bug(run)).environment["lock"]
    assert "pytest" in {line.partition("==")[0] for line in lock}  # what a build would be held to
    before = environments(selfplay)
    done = selfplay("validate", first_bug(run))
    assert done.code == 0, done.err
    assert environments(selfplay) == before and "building" not in done.err


@pytest.mark.long
def test_another_lock_is_built_apart_from_the_users_own_environment(
    selfplay: Command, run: Path, shop: Path, tmp_path: Path, stranger: Path
) -> None:
    """As the issue saw it: what a stranger's lock put there stood in the environment of the user's own next run."""
    before = environments(selfplay)

    def other(environment: dict[str, object]) -> None:
        lines = list(environment["lock"])  # type: ignore[call-overload]
        environment["lock"] = [line for line in lines if not line.startswith("iniconfig==")]

    change(first_bug(run), other)
    done = selfplay("validate", first_bug(run))
    assert done.code == 0, done.err
    built = environments(selfplay) - before
    assert len(built) == 1
    shutil.rmtree(selfplay.cache / "environments" / built.pop())
    own = selfplay("curriculum", shop, "--out", tmp_path / "own", "--bugs", 1, "--seed", 3)
    assert own.code == 0 and environments(selfplay) == before, own.err  # the own run had no part in it


@pytest.mark.slow
def test_a_setup_of_a_strangers_run_is_not_run_unasked(selfplay: Command, run: Path, stranger: Path) -> None:
    bug, before = first_bug(run), environments(selfplay)
    change(bug, lambda environment: environment.update(setup="touch owned"))
    patch = run / "patch"
    patch.write_text("")
    for command in (("validate", bug), ("grade", bug, "--patch", patch), ("audit", bug)):
        done = selfplay(*command)
        assert done.code == 2 and environments(selfplay) == before
        assert done.err.splitlines()[-3:] == [
            "selfplay: this run wants a command of its own to be run while its environment is built:",
            "    touch owned",
            "  If you trust whoever made the run: the same command with --trust.",
        ]


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, -1])
def test_a_run_asks_before_any_of_its_bugs_is_checked(selfplay: Command, run: Path, stranger: Path, which: int) -> None:
    bugs = sorted((run / "bugs").iterdir())
    assert len(bugs) > 1
    change(bugs[which], lambda environment: environment.update(setup="touch owned"))
    done = selfplay("validate", run)
    assert done.code == 2 and "touch owned" in done.err and not any(bug.name in done.out for bug in bugs)


@pytest.mark.long
def test_a_setup_is_run_where_the_user_trusts_it(selfplay: Command, run: Path, stranger: Path) -> None:
    bug = first_bug(run)
    change(bug, lambda environment: environment.update(setup="pip install --quiet pytest && pip install --quiet -e ."))
    assert selfplay("validate", bug, "--trust").code == 0
    assert selfplay("validate", bug).code == 2  # for that time


@pytest.mark.long
def test_the_users_own_setup_is_never_asked_for(selfplay: Command, shop: Path, tmp_path: Path, stranger: Path) -> None:
    out = tmp_path / "own"
    setup = ("--setup", "pip install --quiet pytest && pip install --quiet -e .")
    made = selfplay("curriculum", shop, "--out", out, "--bugs", 1, "--seed", 3, *setup)
    assert made.code == 0, made.err
    moved = Path(shutil.copytree(out, tmp_path / "moved"))
    assert selfplay("validate", moved).code == 0  # also in a copy: it is the same command on the same tree
    change(first_bug(moved), lambda environment: environment.update(setup="pip install --quiet pytest; id"))
    assert selfplay("validate", moved).code == 2


@pytest.mark.slow
def test_a_terminal_asks_once(selfplay: Command, run: Path, stranger: Path) -> None:
    """A no is an error; a yes is remembered, so that the same is not asked again."""
    bug = first_bug(run)
    change(bug, lambda environment: environment.update(setup="exit 7 # \x1b[31m"))
    code, said = on_terminal(selfplay, "n\n", "validate", bug)
    assert code == 2 and "exit 7" in said and "\x1b[31m" not in said and "Allow it, now and later?" in said
    code, said = on_terminal(selfplay, "y\n", "validate", bug)
    assert code == 2 and "the setup command exited 7" in said  # it was run, inside
    code, said = on_terminal(selfplay, "", "validate", bug)
    assert code == 2 and "the setup command exited 7" in said and "Allow it" not in said


def on_terminal(selfplay: Command, answer: str, *arguments: object) -> tuple[int, str]:
    """The command on a terminal of its own, which is given the answer."""
    own, theirs = pty.openpty()
    env = {**os.environ, "SELFPLAY_CACHE": str(selfplay.cache), "TERM": "dumb", "COLUMNS": "200", "NO_COLOR": "1"}
    argv = [sys.executable, "-m", "selfplay", *map(str, arguments)]
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env, close_fds=True) as process:
        os.close(theirs)
        os.write(own, answer.encode())
        said = b""
        while select.select([own], [], [], 200)[0]:
            try:
                piece = os.read(own, 65536)
            except OSError:  # the last process closed its side
                break
            if not piece:
                break
            said += piece
    os.close(own)
    return process.returncode, said.decode("utf-8", "replace").replace("\r\n", "\n")


@pytest.mark.long
def test_a_calibration_that_comes_with_a_run_is_not_believed(selfplay: Command, run: Path) -> None:
    """It may say that no defence works here, and its compiled code would take part in grading."""
    bug = first_bug(run)
    patch = run / "patch"
    patch.write_text(patches.reverse(load(bug).bug_inject))
    assert selfplay("grade", bug, "--patch", patch).code == 0
    path = bug / CALIBRATION_FILE
    own = path.read_bytes()
    poisoned = json.loads(own)
    poisoned["calibration"]["failure"] = {"message": "not today", "hint": ""}
    path.write_text(json.dumps(poisoned))
    assert "not today" not in selfplay("grade", bug, "--patch", patch).err
    assert json.loads(path.read_bytes())["calibration"].keys() == json.loads(own)["calibration"].keys()  # made anew


@pytest.mark.slow
def test_opening_a_run_to_write_deletes_nothing_behind_a_link(selfplay: Command, run: Path) -> None:
    """What a kill leaves in `staging/` is removed; a link there led to the user's own folders."""
    kept = run.parent / "kept"
    (kept / "folder").mkdir(parents=True)
    shutil.rmtree(run / "staging", ignore_errors=True)
    (run / "staging").symlink_to(kept)
    done = selfplay("solve", run, "--policy", "empty", "--attempts", 1)
    assert done.code == 2 and "staging is not a folder" in done.err and (kept / "folder").is_dir()
