"""A checkpoint that a stranger wrote: it runs nothing, changes nothing, and takes neither for ever nor all memory."""

import io
import json
import os
import pathlib
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from small_trainers import learner, train
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import BytesStorageMetadata, Metadata, TensorStorageMetadata

from selfplay.train import checkpoint
from selfplay.train.errors import TrainError
from selfplay.train.step import Trainer


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


def described_tensor(tmp_path: Path, kind: type = TensorStorageMetadata) -> tuple[Path, Metadata, _StorageInfo]:
    """A checkpoint of `tmp_path / "run"`, its description, and where it says that the first tensor or value lies."""
    saved = checkpoint.save(train(learner(), 1), tmp_path / "run", {"at": 1})
    described = pickle.loads((saved / ".metadata").read_bytes())
    name = next(name for name, one in described.state_dict_metadata.items() if isinstance(one, kind))
    return saved, described, next(info for index, info in described.storage_data.items() if index.fqn == name)


def rewritten(saved: Path, described: Metadata) -> None:
    """Write the description, and the sizes of the files as they are now."""
    (saved / ".metadata").write_bytes(pickle.dumps(described))
    about = json.loads((saved / checkpoint.ABOUT).read_text())
    about["files"] = {name: (saved / name).stat().st_size for name in about["files"]}
    (saved / checkpoint.ABOUT).write_text(json.dumps(about))


@pytest.mark.parametrize("kind", [TensorStorageMetadata, BytesStorageMetadata])
def test_a_tensor_that_is_packed_is_refused(tmp_path: Path, kind: type) -> None:
    """torch unpacks the zip of a tensor or value as far as it goes: 1 MB may be a gigabyte."""
    saved, described, one = described_tensor(tmp_path, kind)
    file = saved / one.relative_path
    old = io.BytesIO(file.read_bytes()[one.offset : one.offset + one.length])
    new = io.BytesIO()
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    one.offset, one.length = file.stat().st_size, len(new.getvalue())
    file.write_bytes(file.read_bytes() + new.getvalue())
    rewritten(saved, described)
    with pytest.raises(TrainError, match="holds a packed tensor"):
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


@pytest.mark.parametrize(("option", "value"), [("eps", "x"), ("amsgrad", True), ("maximize", True), ("strange", 1)])
def test_no_option_of_an_optimizer_is_a_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, value: object
) -> None:
    """One that maximises would train a stranger's run uphill."""
    theirs, made = train(learner(), 1), checkpoint._state

    def changed(trainer: Trainer) -> dict[str, Any]:
        state = made(trainer)
        for group in state["optimizer"]["param_groups"] if trainer is theirs else ():
            group[option] = value
        return state

    monkeypatch.setattr(checkpoint, "_state", changed)
    checkpoint.save(theirs, tmp_path / "run", {"at": 1})
    mine = learner()
    before = {name: one for name, one in mine.optimizer.param_groups[0].items() if name != "params"}
    assert checkpoint.resume(mine, tmp_path / "run") == {"at": 1}
    after = {name: one for name, one in mine.optimizer.param_groups[0].items() if name != "params"}
    assert after == before
    train(mine, 1)


def test_what_torch_and_python_read_of_a_zip_is_the_same(tmp_path: Path) -> None:
    """torch finds a zip's directory by its offset, Python right before its end: 2 MB of a tensor were 2 GB."""
    saved, described, one = described_tensor(tmp_path)
    file = saved / one.relative_path
    with zipfile.ZipFile(io.BytesIO(file.read_bytes()[one.offset : one.offset + one.length])) as source:
        members = [(name, source.read(name)) for name in source.namelist()]
    packed, plain = io.BytesIO(), io.BytesIO()
    for made, kind in ((packed, zipfile.ZIP_DEFLATED), (plain, zipfile.ZIP_STORED)):
        with zipfile.ZipFile(made, "w", kind) as target:
            for name, data in members:
                target.writestr(name, data)
    theirs, ours = packed.getvalue(), plain.getvalue()
    end = theirs.rindex(b"PK\5\6")
    directory = ours[ours.index(b"PK\1\2") : ours.rindex(b"PK\5\6")]
    assert len(directory) == len(theirs[theirs.index(b"PK\1\2") : end])  # torch's lies before, Python's behind it
    one.offset, one.length = file.stat().st_size, end + len(directory) + 22
    file.write_bytes(file.read_bytes() + theirs[:end] + directory + theirs[end:])
    rewritten(saved, described)
    with pytest.raises(TrainError):
        checkpoint.resume(learner(), tmp_path / "run")


@pytest.mark.parametrize("values", [True, False])
def test_a_part_is_no_longer_than_what_it_holds(tmp_path: Path, values: bool) -> None:
    """A sparse file of two gigabytes as a learning rate took four gigabytes of memory."""
    saved, described, one = described_tensor(tmp_path, BytesStorageMetadata if values else TensorStorageMetadata)
    file = saved / one.relative_path
    os.truncate(file, 100 << 20)
    one.offset, one.length = 0, 100 << 20
    rewritten(saved, described)
    with pytest.raises(TrainError, match="more bytes than it has"):
        checkpoint.resume(learner(), tmp_path / "run")
