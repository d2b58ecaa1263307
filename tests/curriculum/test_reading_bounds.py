"""What reading a stranger's run may take of a core."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from selfplay.confinement.landlock import landlock_version
from selfplay.curriculum import CurriculumError, reading_bounds


def busy(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        try:
            sum(range(1000))
        except Exception:
            pytest.fail("an error is no interrupt")


@pytest.mark.slow
def test_a_stranger_s_run_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_bounds, "SECONDS", 0.2)
    monkeypatch.setattr(reading_bounds, "is_own", lambda path: False)
    said = f"{tmp_path} takes more than 0 s of a core to read"
    with pytest.raises(CurriculumError, match=said) as refused:
        reading_bounds.bounded_reading([tmp_path], lambda: busy(3))
    assert "SELFPLAY_READ_MIB" in refused.value.hint
    busy(0.5)  # nothing comes afterwards


def test_one_s_own_run_may_take_what_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_bounds, "SECONDS", 0.1)
    monkeypatch.setattr(reading_bounds, "is_own", lambda path: True)
    reading_bounds.bounded_reading([tmp_path], lambda: busy(0.5))


def test_a_library_that_waits_for_ever_ends_the_process_with_its_stack(tmp_path: Path) -> None:
    program = (
        "import pathlib, threading\n"
        "from selfplay.curriculum import reading_bounds\n"
        "reading_bounds.is_own, reading_bounds.STANDSTILL = lambda path: False, 0.5\n"
        "reading_bounds.bounded_reading([pathlib.Path.cwd()], threading.Event().wait)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 1 and b"Timeout (0:00:00.500000)!" in done.stderr


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock: doctor says so")
def test_a_run_is_read_where_nothing_else_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, secret = tmp_path / "run", tmp_path / "secret"
    (run / "bugs" / "b").mkdir(parents=True)
    (run / "curriculum.sqlite").write_text("a pool")
    secret.write_text("secret")
    for own in (False, True):
        monkeypatch.setattr(reading_bounds, "is_own", lambda path, own=own: own)
        for path in (run, run / "bugs" / "b", run / "curriculum.sqlite"):
            assert reading_bounds.bounded_reading([path], (run / "curriculum.sqlite").read_text) == "a pool"
            with pytest.raises(PermissionError):
                reading_bounds.bounded_reading([path], secret.read_text)
