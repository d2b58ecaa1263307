"""What an engine started ends with the process that opened it, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

OPENED = """\
import multiprocessing, sys, time
from selfplay.policies.kill_with_parent import KillWithParent, children

if __name__ == "__main__":
    before = children()
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    child.start()
    leash = KillWithParent(children() - before)
    if sys.argv[1] == "released":
        leash.release()
    print(child.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", ["held", "released"])
def test_a_child_ends_with_a_parent_that_is_killed(tmp_path: Path, how: str) -> None:
    """One that was let go of lives on: its number may be another's by then."""
    (tmp_path / "opened.py").write_text(OPENED)
    with subprocess.Popen([sys.executable, tmp_path / "opened.py", how], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + (20 if how == "held" else 0.5)
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert _runs(child) == (how == "released")
    if how == "released":
        os.kill(child, signal.SIGKILL)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
