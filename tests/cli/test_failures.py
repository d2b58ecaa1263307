"""What the operating system refuses ends in one message that says what to do, never in a traceback."""

import errno
import os
import resource
import sys
from pathlib import Path

import pytest
from cli.refusals import refused
from mounted_places import ended
from run_fixtures import Command, Done

from selfplay.artifact.files import write_atomically
from selfplay.cli.failures import explained
from selfplay.errors import SelfplayError
from selfplay.formatting import shortened

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
