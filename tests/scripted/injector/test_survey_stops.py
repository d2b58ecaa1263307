"""Ctrl-C while a survey of a real suite runs: the command ends, and leaves no process and no half survey behind."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from repository_fixtures import write

from selfplay.repository import Prepared, Suite

CHILD = """
import asyncio, pickle, sys
from pathlib import Path
from selfplay.sandbox import open_backend
from selfplay.sandbox.workers import Workers
from selfplay.scripted.injector.survey import survey_of

backend = open_backend()
given = (*pickle.loads(Path(sys.argv[1]).read_bytes()), backend, Path(sys.argv[1]).parent)


async def in_a_thread():
    with Workers(2) as workers:
        try:
            await workers.run(survey_of, *given)
        except asyncio.CancelledError:
            backend.close()  # what a command does when it is stopped
            raise


try:
    asyncio.run(in_a_thread()) if sys.argv[2] == "thread" else survey_of(*given)
except KeyboardInterrupt:
    print("stopped")
finally:
    backend.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "thread"])
def test_ctrl_c_ends_a_survey_that_runs(where: str, shop: Prepared, tmp_path: Path) -> None:
    asleep = f"{600 + os.getpid() / 1e7:.7f}"  # a command line that no other process has
    test = f"import subprocess\ndef test_it():\n    subprocess.run(['sleep', '{asleep}'])\n"
    tree = write(shutil.copytree(shop.tree, tmp_path / "layer"), {"tests/test_sleep.py": test})
    suite = Suite(("tests/test_sleep.py",), {"tests/test_sleep.py::test_it": 1.0}, wall_seconds=1.0)
    given = (replace(shop, tree=tree, tree_hash="a layer of its own", bytecode=None), suite)
    (tmp_path / "given").write_bytes(pickle.dumps(given))
    (tmp_path / "child.py").write_text(CHILD)
    command = [sys.executable, tmp_path / "child.py", tmp_path / "given", where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        try:
            until(lambda: sleeps(asleep) or child.poll() is not None)
            asked = time.monotonic()
            child.send_signal(signal.SIGINT)
            assert child.wait(timeout=20) is not None and time.monotonic() - asked < 10
        finally:
            child.kill()
        assert child.stdout is not None and child.stdout.read() == "stopped\n"
    until(lambda: not sleeps(asleep))
    assert not (tmp_path / "surveys").exists()


def sleeps(seconds: str) -> bool:
    return any(process.info["cmdline"] == ["sleep", seconds] for process in psutil.process_iter(["cmdline"]))


def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
