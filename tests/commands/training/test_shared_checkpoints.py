"""Checkpoints of a run that somebody shared."""

from pathlib import Path

import pytest

from selfplay.commands.training.shared_checkpoints import MOST_DESCRIPTION, refuse_large_descriptions
from selfplay.curriculum.trust import MEMORY, remember_run
from selfplay.loop.errors import TrainingError


@pytest.mark.parametrize("part", ["checkpoints", "within", "epochs"])
def test_a_large_description_is_read_only_in_a_run_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run = tmp_path / "run"
    refuse_large_descriptions(tmp_path)  # without a checkpoint
    file = run / part / "step-1" / "solver" / ".metadata"
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(MOST_DESCRIPTION))
    refuse_large_descriptions(run)
    file.write_bytes(bytes(MOST_DESCRIPTION + 1))
    with pytest.raises(TrainingError, match="a shared run may have 1048576"):
        refuse_large_descriptions(run)
    monkeypatch.setenv(MEMORY, "1000")
    refuse_large_descriptions(run)
    monkeypatch.delenv(MEMORY)
    remember_run(run)
    refuse_large_descriptions(run)
