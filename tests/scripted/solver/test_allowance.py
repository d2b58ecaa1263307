"""What the search finds must not hang on how busy the machine is: its time is counted in seconds of a core."""

import importlib
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest

from selfplay.scripted.solver.evidence import Evidence
from selfplay.scripted.solver.reports import SeenTest
from selfplay.scripted.solver.script import most_seconds


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The plugin that runs inside, loaded as it is there."""
    source = resources.files("selfplay.scripted.solver.inside").joinpath("selfplay_job.py").read_text()
    (tmp_path / "selfplay_job.py").write_text(source)
    monkeypatch.setenv("SOLVER_FOLDER", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("selfplay_job")
    del sys.modules["selfplay_job"]


def test_waiting_for_a_core_uses_nothing_up(job: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten seconds: three times as long by the clock is nothing, ten of a core are all; four times as long ends it,
    since tests may wait for something that never comes."""
    work, clock = [5.0], [100.0]
    monkeypatch.setattr(job, "used", lambda: work[0])
    monkeypatch.setattr(job.time, "monotonic", lambda: clock[0])
    allowance, waiting = job.Allowance(10.0), job.Allowance(10.0)
    clock[0] += 30
    work[0] += 9.9
    assert not allowance.over()
    work[0] += 0.1
    assert allowance.over()
    monkeypatch.setattr(job, "used", lambda: 5.0)
    assert not waiting.over()
    clock[0] += 10.1
    assert waiting.over()


def test_nothing_lasts_longer_than_the_job(job: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job.time, "monotonic", lambda: 100.0)
    job.END["at"] = 120.0
    assert job.Allowance(10.0).clock == 120.0 and job.latest(5.0) == 105.0


def test_work_counts_the_children_that_ended(job: ModuleType) -> None:
    before = job.used()
    assert job.forked(lambda: spin(0.2), 20.0) is True
    assert job.used() - before > 0.15


@pytest.mark.slow
def test_a_child_that_waits_is_not_late_until_it_waited_long(job: ModuleType) -> None:
    """It sleeps longer than it may work, as one that gets no core."""
    assert job.forked(lambda: time.sleep(0.7) or "done", 0.4) == "done"
    assert job.forked(lambda: time.sleep(60) or "done", 0.1, 0.2) is None


def test_a_child_that_works_too_long_is_ended(job: ModuleType) -> None:
    began = time.monotonic()
    assert job.forked(lambda: spin(1000.0), 0.1, 500.0) is None
    assert time.monotonic() - began < 400


def test_what_a_repair_may_take() -> None:
    """Of a core 0.6 s and three times the failing tests' own work; four times as long as they took by the clock."""
    failing = tuple(SeenTest(f"t{n}", False, seconds=0.4, work=0.1) for n in range(2))
    assert most_seconds(Evidence({}, failing)) == pytest.approx((1.2, 4 * 3.0))
    slow = (SeenTest("t", False, seconds=9.0, work=9.0),)
    assert most_seconds(Evidence({}, slow)) == (6.0, 24.0)


def spin(seconds: float) -> bool:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return True
