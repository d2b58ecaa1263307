"""The price of a run counts what happened in sandboxes, however it was started there and however it ended."""

import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from selfplay.commands.cost import CostMeter, cost_report, cpu_seconds
from selfplay.curriculum import open_curriculum
from selfplay.repository import Suite
from selfplay.sandbox import Backend, World

BURN = "import time\nwhile time.process_time() < {seconds}: pass"


def burned(backend: Backend, tree: Path, command: str) -> float:
    """Core seconds a meter sees while `command` runs in a sandbox of its own, start and end included."""
    with tempfile.TemporaryDirectory() as folder, open_curriculum(Path(folder)) as pool:
        meter = CostMeter(pool, "bugs")
        with backend.open(World(tree=(tree,))) as sandbox:
            assert sandbox.run(command, timeout=60).exit_code == 0
        meter.store()
        return pool.costs()["bugs"][1]


@pytest.mark.slow
def test_a_sandbox_s_processes_are_counted_once(backend: Backend, tmp_path: Path) -> None:
    nothing = burned(backend, tmp_path, "true")
    spent = burned(backend, tmp_path, f"python3 -c '{BURN.format(seconds=1)}'")
    # 1 s is burned; the start of Python and of the sandbox come on top, which cost `nothing` and some 0.05 s
    assert 0.95 < spent - nothing < 1.4


def test_a_process_that_ends_while_it_is_read_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parent, this process, is read before it reaps the child, and the child after."""
    before = cpu_seconds()
    child = psutil.Popen([sys.executable, "-c", BURN.format(seconds=0.5) + "\nprint(flush=True)\ninput()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    child.stdout.readline()
    read = psutil.Process.cpu_times

    def reaped_meanwhile(process: psutil.Process) -> object:
        if process.pid == child.pid:
            child.kill()
            child.wait()
        return read(process)

    monkeypatch.setattr(psutil.Process, "cpu_times", reaped_meanwhile)
    assert cpu_seconds() - before >= 0.45


@pytest.mark.slow
def test_orphans_inside_a_sandbox_are_counted(backend: Backend, tmp_path: Path) -> None:
    nothing = burned(backend, tmp_path, "true")
    burner = f"python3 -c '{BURN.format(seconds=1)}'; echo > /tmp/done"
    # two parents away, in a session of its own: only pid 1 of the sandbox can reap it
    spent = burned(backend, tmp_path, f'mkfifo /tmp/done; (setsid bash -c "{burner}" &) ; read < /tmp/done')
    assert 0.95 < spent - nothing < 1.4


@pytest.mark.slow
def test_the_price_is_that_of_the_whole_run_in_runs_of_the_suite(backend: Backend, tmp_path: Path) -> None:
    suite = Suite(files=(), seconds={}, cpu_seconds=0.25)
    (tmp_path / "tree").mkdir()
    for _ in range(2):  # a run, and the same resumed
        with open_curriculum(tmp_path / "run") as pool:
            meter = CostMeter(pool)
            meter.begin("bugs")
            with backend.open(World(tree=(tmp_path / "tree",))) as sandbox:
                sandbox.run(["python3", "-c", BURN.format(seconds=0.5)], timeout=60)
            meter.store()
            report = cost_report(pool, suite)
    assert report["suite_runs_worth"] == pytest.approx(report["bugs"]["core_seconds"] / 0.25, abs=0.02)
    assert report["suite_runs_worth"] >= 3.8  # twice 0.5 s, in runs of 0.25 s; the kernel counts in ticks of 10 ms
    assert report["prepare"]["core_seconds"] < 0.5  # the laps do not overlap
