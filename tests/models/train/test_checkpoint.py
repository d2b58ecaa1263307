"""Checkpoints: what was saved comes back, a kill leaves the one before, and what cannot be used is refused."""

import json
import os
import pathlib
import pickle
import resource
import shutil
import signal
from pathlib import Path

import pytest
import torch
from tiny_models import tiny_llama, uneven
from torch.distributed.checkpoint.metadata import Metadata
from train_ranks import policy_gradient

from selfplay.train import checkpoint
from selfplay.train.errors import TrainError
from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.step import StepOptions, Trainer


def learner(seed: int = 0, layers: int = 2) -> Trainer:
    model = scorer_of(tiny_llama(seed, layers=layers), ModelOptions(precision="fp32"))
    return Trainer(model, StepOptions(lr=1e-2, warmup=5))


def train(trainer: Trainer, steps: int) -> Trainer:
    for _ in range(steps):
        trainer.step(uneven(seed=trainer.steps), policy_gradient, 25)
    return trainer


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


class Program:
    """What a pickle may ask whoever reads it to run."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("place", ["description", "value"])
def test_a_strangers_checkpoint_runs_nothing(tmp_path: Path, place: str) -> None:
    """Both in `.metadata`, and as a value that is no tensor (the learning rate), which torch reads as a pickle too."""
    saved = checkpoint.save(train(learner(), 1), tmp_path / "run", {"at": 1})
    mark = tmp_path / "executed"
    if place == "description":
        (saved / ".metadata").write_bytes(pickle.dumps(Program(mark)))
    else:
        state = checkpoint._state(learner())
        state["optimizer"]["param_groups"] = Program(mark)
        shutil.rmtree(saved)
        saved.mkdir()
        checkpoint.dcp.save(state, checkpoint_id=saved)
    about = {"files": {path.name: path.stat().st_size for path in saved.iterdir() if path.name != checkpoint.ABOUT}}
    told = {"format": 1, "step": 1, "position": {}, **checkpoint.described(learner().scorer), **about}
    (saved / checkpoint.ABOUT).write_text(json.dumps(told))
    with pytest.raises(TrainError):
        checkpoint.resume(learner(), tmp_path / "run")
    assert not mark.exists()


@pytest.mark.parametrize("built", [pathlib.PosixPath, Metadata, torch.serialization._get_layout])
def test_a_strangers_checkpoint_changes_nothing_of_this_process(tmp_path: Path, built: object) -> None:
    """A pickle's BUILD sets attributes of whatever is on its stack: `PosixPath._str` redirected each path of the
    process, and a file of the user was deleted."""
    saved = checkpoint.save(train(learner(), 1), tmp_path / "run", {"at": 1})
    name = b"c" + f"{built.__module__}\n{built.__qualname__}\n".encode()  # type: ignore[attr-defined]
    state = pickle.dumps((None, {"changed_by_a_pickle": "yes"}), protocol=2)[2:-1]
    (saved / ".metadata").write_bytes(data := b"\x80\x02" + name + state + b"b.")
    about = json.loads((saved / checkpoint.ABOUT).read_text())
    about["files"][".metadata"] = len(data)
    (saved / checkpoint.ABOUT).write_text(json.dumps(about))
    with pytest.raises(TrainError, match="which is no description"):
        checkpoint.resume(learner(), tmp_path / "run")
    assert not hasattr(built, "changed_by_a_pickle")


SAME_TWICE = b"X\x01\0\0\0x2\x86" + b"2\x86" * 39
"""A tuple that holds one tuple twice, which holds one twice, and so on: its hash and its text take 2**40 steps."""
OF_METADATA = b"ctorch.distributed.checkpoint.metadata\n"
BOMBS = {
    "as a key": b"}" + SAME_TWICE + b"Ns.",
    "as a key with others": b"}(" + SAME_TWICE + b"Nu.",
    "in a key": b"}" + OF_METADATA + b"MetadataIndex\n)\x81}(X\x03\0\0\0fqn" + SAME_TWICE + b"ubNs.",
    "in a set": b"(" + SAME_TWICE + b"\x91.",
    "as an argument": OF_METADATA + b"_MEM_FORMAT_ENCODING\n" + SAME_TWICE + b"\x85R.",
    "as a file": OF_METADATA + b"Metadata\n)\x81}(X\x0c\0\0\0storage_data}X\x01\0\0\0k"
    + b"ctorch.distributed.checkpoint.filesystem\n_StorageInfo\n)\x81}X\x0d\0\0\0relative_path"
    + SAME_TWICE + b"sbsub.",
    "packed": OF_METADATA + b"Metadata\n)\x81}(X\x0c\0\0\0storage_data}X\x01\0\0\0k"
    + b"ctorch.distributed.checkpoint.filesystem\n_StorageInfo\n)\x81}(X\x0d\0\0\0relative_pathX\x09\0\0\0.metadata"
    + b"X\x15\0\0\0transform_descriptors]X\x0d\0\0\0stream.zstd/1aubsub.",
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("place", BOMBS)
def test_a_description_that_takes_for_ever_is_refused(tmp_path: Path, place: str) -> None:
    """In one step of Python that no interrupt ends; or of 65 kB that are 4.4 GB unpacked."""
    saved = checkpoint.save(train(learner(), 1), tmp_path / "run", {"at": 1})
    (saved / ".metadata").write_bytes(data := b"\x80\x04" + BOMBS[place])
    about = json.loads((saved / checkpoint.ABOUT).read_text())
    about["files"][".metadata"] = len(data)
    (saved / checkpoint.ABOUT).write_text(json.dumps(about))
    with pytest.raises(TrainError, match=r"as a key|no description|no file of the checkpoint|is packed"):
        checkpoint.resume(learner(), tmp_path / "run")


@pytest.mark.parametrize(
    "wrong", [{"step": "1"}, {"position": None}, {"position": [1]}, {"model": 3}, {"config": [1]}], ids=str
)
def test_a_description_of_other_types_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    saved = checkpoint.save(train(learner(), 1), tmp_path / "run", {"at": 1})
    about = {**json.loads((saved / checkpoint.ABOUT).read_text()), **wrong}
    (saved / checkpoint.ABOUT).write_text(json.dumps(about))
    with pytest.raises(TrainError):
        checkpoint.resume(learner(), tmp_path / "run")


def test_a_checkpoints_tensors_lie_in_its_own_files(tmp_path: Path) -> None:
    saved = checkpoint.save(train(learner(), 1), tmp_path / "run", {"at": 1})
    described = pickle.loads((saved / ".metadata").read_bytes())
    for one in described.storage_data.values():
        one.relative_path = "../../secret"
    (saved / ".metadata").write_bytes(data := pickle.dumps(described))
    about = json.loads((saved / checkpoint.ABOUT).read_text())
    about["files"][".metadata"] = len(data)
    (saved / checkpoint.ABOUT).write_text(json.dumps(about))
    with pytest.raises(TrainError, match=r"names '../../secret', which is no file of the checkpoint"):
        checkpoint.resume(learner(), tmp_path / "run")
