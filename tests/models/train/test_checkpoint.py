"""Checkpoints: what was saved comes back, a kill leaves the one before, and what cannot be used is refused."""

import json
import os
import resource
import shutil
import signal
from pathlib import Path

import pytest
import torch
from small_trainers import learner, train

from selfplay.train import checkpoint
from selfplay.train.errors import TrainError
from selfplay.train.step import Trainer


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainer.scorer.parameters()])


def test_a_resumed_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """Weights, moments, the step (hence the warm-up) and the random state are those of the run that never ended."""
    first = train(learner(), 3)
    torch.manual_seed(11)
    checkpoint.save(first, tmp_path, {"epoch": 1, "batch": 7})
    drawn = torch.rand(3)
    second = learner(seed=9)
    assert checkpoint.resume(second, tmp_path) == {"epoch": 1, "batch": 7}
    assert torch.equal(torch.rand(3), drawn)
    assert (second.steps, second.lr) == (3, pytest.approx(0.008))
    assert torch.equal(weights(train(second, 2)), weights(train(first, 2)))


def test_an_empty_folder_has_nothing_to_resume(tmp_path: Path) -> None:
    assert checkpoint.resume(learner(), tmp_path) is None


def test_the_newest_are_kept(tmp_path: Path) -> None:
    trainer = learner()
    for _ in range(3):
        checkpoint.save(train(trainer, 1), tmp_path, {}, keep=2)
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == ["step-2", "step-3"]


def test_a_higher_number_that_somebody_gave_removes_nothing_that_is_saved(tmp_path: Path) -> None:
    """In a shared run each new checkpoint was removed as it was saved: the stranger's had a higher number."""
    trainer = learner()
    checkpoint.save(train(trainer, 1), tmp_path, {})
    (tmp_path / "step-1").rename(tmp_path / "step-999")
    checkpoint.save(train(trainer, 1), tmp_path, {})
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == ["step-2", "step-999"]
    with pytest.raises(TrainError, match="step-999 is the checkpoint of step 1"):
        checkpoint.resume(learner(), tmp_path)


def test_a_kill_while_one_is_written_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child dies when all data are on the disk and only the description and the name are missing."""
    trainer = train(learner(), 1)
    checkpoint.save(trainer, tmp_path, {"batch": 1})
    kept = weights(trainer)
    train(trainer, 1)
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(checkpoint, "_complete", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        checkpoint.save(trainer, tmp_path, {"batch": 2})
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new-step-2", "step-1"]
    again = learner(seed=4)
    assert checkpoint.resume(again, tmp_path) == {"batch": 1}
    assert torch.equal(weights(again), kept)
    checkpoint.save(trainer, tmp_path, {"batch": 2})  # over what the kill left
    assert [path.name for path in tmp_path.iterdir()] == ["step-2"]


def test_a_full_disk_is_said_and_leaves_the_one_before(tmp_path: Path) -> None:
    """A limit of 20 kB a file stands for the full disk: the weights alone take 80 kB."""
    trainer = train(learner(), 1)
    checkpoint.save(trainer, tmp_path, {"batch": 1})
    train(trainer, 1)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        with pytest.raises(TrainError, match=r"no checkpoint can be written to \S+: \S+") as error:
            checkpoint.save(trainer, tmp_path, {"batch": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert error.value.hint.startswith("Is the disk full?")
    assert [path.name for path in tmp_path.iterdir()] == ["step-1"]
    assert checkpoint.resume(learner(), tmp_path) == {"batch": 1}


def test_another_model_is_refused_by_what_differs(tmp_path: Path) -> None:
    checkpoint.save(train(learner(), 1), tmp_path, {})
    with pytest.raises(TrainError, match=r"of another model: model\.model\.layers\.2\.\S+ is no such tensor there"):
        checkpoint.resume(learner(layers=3), tmp_path)


def test_one_cut_short_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = checkpoint.save(train(learner(), 1), tmp_path, {})
    whole = shutil.copytree(path, tmp_path / "whole")
    (data,) = path.glob("*.distcp")
    data.write_bytes(data.read_bytes()[:-100])
    with pytest.raises(TrainError, match=rf"{data.name} has \d+ bytes of \d+") as error:
        checkpoint.resume(learner(), tmp_path)
    assert error.value.hint == checkpoint.REMOVE
    for change, why in (
        (data.unlink, "is no regular file"),
        ((path / checkpoint.ABOUT).unlink, "not a whole checkpoint"),
    ):
        change()
        with pytest.raises(TrainError, match=why):
            checkpoint.resume(learner(), tmp_path)
    about = json.loads((whole / checkpoint.ABOUT).read_text())
    (whole / checkpoint.ABOUT).write_text(json.dumps({**about, "format": 9}))
    with pytest.raises(TrainError, match=r"later version \(format 9\)"):
        checkpoint.load(learner(), whole)


def test_damage_that_keeps_the_size_is_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = checkpoint.save(train(learner(), 1), tmp_path, {})
    (data,) = path.glob("*.distcp")
    data.write_bytes(bytes(data.stat().st_size))
    with pytest.raises(TrainError, match="cannot be read"):
        checkpoint.resume(learner(), tmp_path)
