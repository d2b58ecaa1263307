"""Programs start commands without a standard stream, or with one that is full: no traceback, and a code of ours."""

import subprocess
import sys

import pytest

COMMAND = f"exec {sys.executable} -m selfplay"


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["--version", "show /nowhere", "grade /nowhere --patch /dev/null"])
def test_a_closed_stream_is_as_an_empty_one(command: str, closed: str) -> None:
    """All that a command opens has other numbers than these three."""
    whole = subprocess.run(["sh", "-c", f"{COMMAND} {command}"], capture_output=True, text=True, check=False)
    done = subprocess.run(["sh", "-c", f"{COMMAND} {command} {closed}"], capture_output=True, text=True, check=False)
    assert done.returncode == whole.returncode
    assert done.stdout == ("" if " >&-" in f" {closed}" else whole.stdout)
    assert done.stderr == ("" if "2>&-" in closed else whole.stderr)


@pytest.mark.parametrize("command", ["--version", "--help", "show --help"])
def test_a_stream_that_is_full_is_told_in_a_line(command: str) -> None:
    done = subprocess.run(["sh", "-c", f"{COMMAND} {command} >/dev/full"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
