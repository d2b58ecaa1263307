"""Figures as TensorBoard reads them: by place and step, each once, also after a kill."""

from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from selfplay.report.scalars import FILES, flattened, scalars

STEP: dict[str, Any] = {
    "number": 0, "step": {"loss": 0.5, "rows": 2}, "tokens": None, "nothing": "text", "done": True, "odd": float("nan"),
    "rollouts": {"solver": {"groups": {"3/4": 2}}, "injector": {"diversity": None}}, "list": [1.0],
}  # fmt: skip


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(folder))
    found.Reload()
    return {tag: [(one.step, one.value) for one in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_every_number_by_its_place_and_nothing_else() -> None:
    assert flattened(STEP) == {"number": 0.0, "step/loss": 0.5, "step/rows": 2.0, "rollouts/solver/groups/3 of 4": 2.0}


def test_steps_are_read_back_and_a_resumed_run_has_each_once(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "tensorboard"
    steps = [{**STEP, "number": number, "step": {"loss": 0.25 * number}} for number in range(4)]
    with scalars(folder, []) as write:
        write(steps[0])
        write(steps[1])
    assert read(folder)["step/loss"] == [(0, 0.0), (1, 0.25)]
    with scalars(folder, steps[:3]) as write:  # step 2 was finished, and the run killed before it was written
        write(steps[3])
    found = read(folder)
    assert found["step/loss"] == [(number, 0.25 * number) for number in range(4)]
    assert len(list(folder.glob(FILES))) == 1


def test_a_step_is_on_the_disk_when_it_is_written(tmp_path: Path) -> None:
    with scalars(tmp_path, []) as write:
        write(STEP)
        assert read(tmp_path)["step/loss"] == [(0, 0.5)]
    with pytest.raises(InterruptedError), scalars(tmp_path, [STEP]):
        raise InterruptedError
    assert read(tmp_path)["step/loss"] == [(0, 0.5)]
