"""What is stored of a calibration can be read again, whatever its size."""

import os
import tracemalloc
from pathlib import Path

import pytest

from selfplay.artifact.reading import MIB
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


def test_a_strangers_calibration_takes_no_memory(tmp_path: Path) -> None:
    """It is only read when its seal is this user's."""
    file = tmp_path / CALIBRATION_FILE
    file.write_bytes(b'{"seal": "%s", ' % (b"0" * 64))
    os.truncate(file, 200 * MIB)
    tracemalloc.start()
    try:
        assert read_calibration(tmp_path, "key") is None
        assert tracemalloc.get_traced_memory()[1] < 10 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_calibration_is_not_left_in_a_folder_of_another_user(tmp_path: Path) -> None:
    """It names the canary tests of a bug, and is made again instead."""
    os.chown(tmp_path, 4321, 4321)
    assert write_calibration(tmp_path, "key", KNOWN) == KNOWN
    assert not list(tmp_path.iterdir())
