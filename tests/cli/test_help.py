"""What every command answers before it does anything."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from run_fixtures import Command
from typer.core import TyperGroup

from selfplay import __version__
from selfplay.cli import app


def every_command() -> Iterator[tuple[str, ...]]:
    """The words of each command and of each group, from the program itself: none can be forgotten here."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        yield words
        if isinstance(command, TyperGroup):
            waiting += [((*words, name), inner) for name, inner in command.commands.items()]


COMMANDS = sorted(every_command())


def test_every_command_has_been_found() -> None:
    assert len(COMMANDS) >= 24 and {(), ("eval",), ("train",), ("model", "fetch")} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_short_help_is_the_long_one(selfplay: Command, command: tuple[str, ...]) -> None:
    short, long = selfplay.here(*command, "-h"), selfplay.here(*command, "--help")
    assert short.code == 0 and short.out == long.out and "Usage: " in short.out


def test_the_version_is_told(selfplay: Command) -> None:
    done = selfplay("--version")
    assert (done.code, done.out) == (0, f"selfplay {__version__}\n")


def test_a_shell_can_complete(selfplay: Command) -> None:
    assert {"--install-completion", "--show-completion"} <= set(selfplay("--help").out.split())
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'selfplay'; from selfplay.cli import app; app()"],
        env={"_SELFPLAY_COMPLETE": "complete_bash", "COMP_WORDS": "selfplay cur", "COMP_CWORD": "1"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == ["curriculum"], done.stderr
