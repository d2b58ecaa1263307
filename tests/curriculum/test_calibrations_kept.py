"""What is stored of a calibration can be read again, whatever its size."""

from pathlib import Path

import pytest

from selfplay.curriculum import calibrations
from selfplay.curriculum.calibrations import CALIBRATION_FILE, read_calibration, write_calibration
from selfplay.oracle.calibration import Calibration, CalibrationFailure
from selfplay.oracle.rewriting.instrument import Instrumented

KNOWN = Calibration(
    made=Instrumented(), compiled={"a.pyc": bytes(3000)}, must_pass=(), must_fail=(), copies=(), false_claims=(),
    witnessed=frozenset(), witness_end=False, replaced=frozenset(), rewritten=frozenset(), exit_zero=True,
    end_mark=True, seconds=0.1, runs=1,
)  # fmt: skip


def test_a_calibration_is_stored_or_refused_by_the_bound_that_reading_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_calibration(tmp_path, "key", KNOWN) == KNOWN == read_calibration(tmp_path, "key")
    size = (tmp_path / CALIBRATION_FILE).stat().st_size
    monkeypatch.setattr(calibrations, "MOST_BYTES", size)
    assert write_calibration(tmp_path, "key", KNOWN) == KNOWN == read_calibration(tmp_path, "key")
    monkeypatch.setattr(calibrations, "MOST_BYTES", size - 1)
    refused = write_calibration(tmp_path, "key", KNOWN)
    assert isinstance(refused, CalibrationFailure) and refused == read_calibration(tmp_path, "key")
    assert refused.message == f"its calibration takes {size:,} bytes; the limit is {size - 1:,}"
    assert (tmp_path / CALIBRATION_FILE).stat().st_size < 1000
