"""What the operating system refuses ends in one message that says what to do, never in a traceback."""

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from mounted_places import ended, mounted
from run_fixtures import Command, Done

from selfplay.artifact.files import write_atomically
from selfplay.cli.failures import explained
from selfplay.errors import SelfplayError
from selfplay.formatting import shortened


def refused(done: Done, *parts: str) -> None:
    """It ended with exit code 2 and one message of one or two lines that holds these parts."""
    assert done.code == 2 and "Traceback" not in done.err, done.err
    message = done.err[done.err.index("selfplay: ") :]
    assert len(message.splitlines()) <= 2, message
    for part in parts:
        assert part in message, message


# -- the folder of a run ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_read_only_out(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    done = mounted(selfplay, tmp_path / "ro", "ro")("curriculum", shop, "--out", tmp_path / "ro" / "run")
    refused(done, f"{tmp_path}/ro/run", "Read-only file system", "Give another --out")
    made = mounted(selfplay, tmp_path / "made", "size=1m", f"mkdir run && mount -o remount,ro {tmp_path}/made")
    refused(made("curriculum", shop, "--out", tmp_path / "made" / "run"), "Read-only file system", "give another place")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_out_without_permission(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o555)
    refused(selfplay("curriculum", shop, "--out", tmp_path / "mine"), "Permission denied", "change its permissions")


@pytest.mark.parametrize("size", ["4k", "40k", "120k", "300k"])
@pytest.mark.long
def test_a_full_out(selfplay: Command, shop: Path, tmp_path: Path, size: str) -> None:
    """Full before the pool is there, while it is made, while the original is written, while episodes are stored."""
    full = mounted(selfplay, tmp_path / "full", f"size={size}")
    refused(full("curriculum", shop, "--out", tmp_path / "full" / "run", "--bugs", 2), "space", "same command resumes")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["solve", "curriculum"])
def test_a_run_that_is_resumed_on_a_full_disk(
    selfplay: Command, shop: Path, run: Path, tmp_path: Path, command: str
) -> None:
    fill = f"cp -r {run} run && (cat /dev/zero > filler 2> /dev/null || true)"
    full, place = mounted(selfplay, tmp_path / "full", "size=16m", fill), tmp_path / "full" / "run"
    done = full("solve", place, "--attempts", 1) if command == "solve" else full("curriculum", shop, "--out", place)
    refused(done, "same command resumes")
    assert "not a curriculum" not in done.err


def test_a_full_runs_folder_of_an_export(selfplay: Command, run: Path, tmp_path: Path) -> None:
    full = mounted(selfplay, tmp_path / "full", "size=4k")
    done = full("trajectories", "export", run, "--scripted", "--out", tmp_path / "full" / "lessons.jsonl")
    refused(done, "No space left on device", "Free some space")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["curriculum", "solve", "show", "validate", "grade", "audit", "export"])
def test_a_path_of_850_characters(selfplay: Command, shop: Path, run: Path, tmp_path: Path, command: str) -> None:
    long = tmp_path / ("x" * 850)
    arguments = {
        "curriculum": ("curriculum", shop, "--out", long),
        "grade": ("grade", long, "--patch", __file__),
        "export": ("trajectories", "export", run, "--out", long.with_suffix(".jsonl")),
    }.get(command, (command, long))
    done = selfplay(*arguments)
    refused(done, "characters long" if command == "curriculum" else "File name too long")
    assert "x" * 250 not in done.err


@pytest.mark.parametrize("command", ["curriculum", "import"])
def test_a_nested_path_that_sqlite_cannot_open(selfplay: Command, shop: Path, tmp_path: Path, command: str) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text("[{}]")
    out = tmp_path.joinpath(*["x" * 99] * 8)
    done = selfplay.here(command, shop if command == "curriculum" else rows, "--out", out)
    refused(done, f"its path is {len(str(out))} characters long", "Give a shorter --out.")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.json"]


@pytest.mark.parametrize("command", ["curriculum", "import"])
def test_a_command_that_fails_at_once_leaves_no_pool(selfplay: Command, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.json").write_text("[{}]")
    source = tmp_path / ("empty" if command == "curriculum" else "rows.json")
    refused(selfplay.here(command, source, "--out", tmp_path / "above" / "run"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "rows.json"]


def test_an_out_that_holds_something_else(selfplay: Command, shop: Path) -> None:
    """Even where it is a checkout, whose commits alone are read: its owner works in it."""
    before = sorted(path.name for path in shop.iterdir())
    refused(selfplay.here("curriculum", shop, "--out", shop), "it is not a run's folder", "Give another --out")
    assert sorted(path.name for path in shop.iterdir()) == before


@pytest.mark.slow
def test_an_out_that_is_a_file(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(selfplay("curriculum", shop, "--out", tmp_path / "file"), "file cannot be used", "Give another --out.")
    refused(selfplay("curriculum", shop, "--out", tmp_path / "file" / "run"), "Not a directory")


# -- files and folders that are read ---------------------------------------------------------------------------


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


# -- Ctrl-C, and what is refused first ---------------------------------------------------------------------------


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "patched"),
    [
        (("grade", "bug", "--patch", "x.diff"), "selfplay.cli.bugs.opened"),
        (("audit", "run"), "selfplay.cli.bugs.trusted"),
        (("world", "bug", "--out", "x"), "selfplay.cli.importing.trusted"),
        (("report", "run"), "selfplay.commands.report.write_report"),
        (("show", "run"), "selfplay.commands.show.look"),
        (("export", "run", "--out", "x"), "selfplay.commands.export.run_export"),
        (("credit", "run"), "selfplay.commands.credit.credited_runs"),
        (("trajectories", "export", "run", "--out", "x.jsonl"), "selfplay.commands.lessons.write_lessons"),
    ],
)
def test_ctrl_c_ends_every_command_with_a_word(
    selfplay: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], patched: str
) -> None:
    monkeypatch.setattr(patched, _interrupt)
    done = selfplay.here(*arguments)
    assert done.code == 130 and "selfplay: interrupted" in done.err.splitlines(), done.err


@pytest.mark.parametrize("command", [("solve", "no-run"), ("eval", "no-run"), ("curriculum", "pypi:none")])
def test_an_unknown_option_is_refused_before_anything_is_shown(selfplay: Command, command: tuple[str, ...]) -> None:
    done = selfplay.here(*command, "--policy", "openai:m", "--option", "a=b")
    refused(done, "there is no option 'a'", "The options are: ")
    assert done.err.startswith("selfplay: ")


def test_options_that_contradict(selfplay: Command) -> None:
    done = selfplay.here("learn", "run", "--model", "m", "--dry-run", "--out", "x")
    assert done.code == 2 and "--dry-run, which writes nothing" in done.err


def test_a_group_of_a_script_is_said_to_share_no_prompt(
    selfplay: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Said, not refused: a run that was begun so resumes."""
    monkeypatch.setattr("selfplay.commands.curriculum.run_curriculum", _interrupt)
    asked = ("curriculum", "pypi:none", "--out", tmp_path / "run", "--group")
    assert "has no prompt" in selfplay.here(*asked, 4).err
    assert "has no prompt" not in selfplay.here(*asked, 1).err


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


# -- limits of the shell ---------------------------------------------------------------------------------------


def limited(command: Command, limit: str, *arguments: object) -> Done:
    argv = ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", sys.executable, "-m", "selfplay", *map(str, arguments)]
    return ended(["bash", *argv[1:]], command)


@pytest.mark.parametrize(
    ("limit", "said", "command"),
    [
        ("-n 64", "64 open files (ulimit -n)", "ulimit -n 1024"),
        ("-u 20", "20 processes (ulimit -u)", "ulimit -u 4096"),
        ("-f 1000", "1024000 bytes a file (ulimit -f)", "ulimit -f unlimited"),
    ],
)
@pytest.mark.slow
def test_a_shell_s_limit_is_named_with_the_command_that_raises_it(
    selfplay: Command, shop: Path, tmp_path: Path, limit: str, said: str, command: str
) -> None:
    done = limited(selfplay, limit, "curriculum", shop, "--out", tmp_path / "out", "--bugs", 1)
    refused(done, f"this shell allows {said}", f"`{command}`")
    assert "container" not in done.err
    told = limited(selfplay, limit, "doctor")
    assert told.code == 1 and said in " ".join(told.out.split()) and command in " ".join(told.out.split())


# -- the translation itself ------------------------------------------------------------------------------------


def test_a_limit_that_was_hit_is_named() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    error = explained(OSError(errno.EMFILE, "Too many open files"))
    assert error is not None and f"at most {most} open files" in error.message and "ulimit -n 4096" in error.hint
    error = explained(RuntimeError("can't start new thread"))
    assert error is not None and "processes and threads" in error.message and "ulimit -u 4096" in error.hint


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    assert explained(RuntimeError("x")) is None and explained(KeyError("x")) is None and explained(OSError("x")) is None
    error = explained(OSError(errno.EXDEV, "Invalid cross-device link", "/a/b"))
    assert error is not None and error.message == "/a/b: Invalid cross-device link" and "--verbose" in error.hint


def test_a_long_path_is_shown_by_both_ends() -> None:
    error = explained(OSError(errno.ENAMETOOLONG, "File name too long", "/" + "x" * 850 + "/end"))
    assert (
        error is not None and len(error.message) < 250 and error.message.startswith("/xxx") and "/end:" in error.message
    )


def test_a_file_that_cannot_be_written_is_named_by_its_own_name(tmp_path: Path) -> None:
    for path in (Path("/proc/report.html"), tmp_path / "no" / "report.html", tmp_path / f"{'x' * 300}.html"):
        with pytest.raises(OSError) as caught:
            write_atomically(path, b"x")
        error = explained(caught.value)
        assert error is not None and error.message.startswith(f"{shortened(path)}: ") and error.hint


@pytest.mark.parametrize("link", [False, True], ids=["a pipe", "a link to one"])
def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path: Path, link: bool) -> None:
    """`--out /dev/null` of root took it from the whole machine."""
    os.mkfifo(pipe := tmp_path / "pipe")
    (tmp_path / "link").symlink_to(pipe)
    with pytest.raises(SelfplayError) as refused:
        write_atomically(tmp_path / "link" if link else pipe, b"x")
    assert refused.value.message.endswith("is a device or a pipe, not a file") and refused.value.hint
    assert pipe.is_fifo() and {path.name for path in tmp_path.iterdir()} == {"link", "pipe"}
