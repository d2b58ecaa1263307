"""What reading a stranger's run may take of a core."""

import time
from pathlib import Path

import pytest

from selfplay.curriculum import CurriculumError, reading_bounds


def busy(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        try:
            sum(range(1000))
        except Exception:
            pytest.fail("an error is no interrupt")


def test_a_stranger_s_run_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_bounds, "SECONDS", 0.2)
    monkeypatch.setattr(reading_bounds, "is_own", lambda path: False)
    said = f"{tmp_path} takes more than 0 s of a core to read"
    with pytest.raises(CurriculumError, match=said) as refused, reading_bounds.bounded_reading([tmp_path]):
        busy(20)
    assert "SELFPLAY_READ_MIB" in refused.value.hint
    busy(0.5)  # nothing comes afterwards


def test_one_s_own_run_may_take_what_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_bounds, "SECONDS", 0.1)
    monkeypatch.setattr(reading_bounds, "is_own", lambda path: True)
    with reading_bounds.bounded_reading([tmp_path]):
        busy(0.5)
