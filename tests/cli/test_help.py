"""What every command answers before it does anything."""

import subprocess
import sys

import pytest
from run_fixtures import Command

from selfplay import __version__

COMMANDS = (
    (), ("curriculum",), ("solve",), ("validate",), ("grade",), ("audit",), ("show",), ("doctor",), ("trajectories",),
    ("trajectories", "export"), ("trajectories", "demonstrate"), ("image",), ("image", "build"), ("model",),
    ("model", "fetch"), ("sft",), ("learn",), ("credit",), ("serve-env",),
)  # fmt: skip


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
