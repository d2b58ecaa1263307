"""Checkpoints: weights, optimizer, step, random state, and the caller's position in its data.

`FOLDER/step-N/` holds `torch.distributed.checkpoint`'s files and `about.json`, written last. It is made under another
name and renamed when complete, so a kill leaves the previous one. It can be read by any number of ranks. Learning rates
follow from the step. Training draws no random numbers; the state is kept for callers that do.
"""

import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint._nested_dict import flatten_state_dict
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict

from selfplay.artifact.reading import MIB, UntrustedDataError, listed_below, read_named
from selfplay.train.checkpoint_reader import DescriptionReader, ValuesAsData
from selfplay.train.errors import TrainError
from selfplay.train.identity import check_model, described
from selfplay.train.lora import PART
from selfplay.train.model import first_rank
from selfplay.train.step import Trainer
from selfplay.untrusted_json import json_value

FORMAT = 1
ABOUT = "about.json"
MOST_ABOUT = 16 * MIB
"""The most bytes of `about.json`."""
UNREADABLE = (
    OSError, ValueError, RuntimeError, EOFError, UnpicklingError, AttributeError, TypeError, KeyError, IndexError,
    UntrustedDataError, dcp.api.CheckpointException,
)  # fmt: skip
"""What torch and the unpickler raise for files that they did not write."""
REMOVE = "Remove that folder: the checkpoint before it is used then."


def save(trainer: Trainer, folder: Path, position: Mapping[str, Any], keep: int = 1) -> Path:
    """Write `FOLDER/step-N` and remove all but the newest `keep`. `position`: plain values, given back by `resume`.
    Raises `TrainError` if it cannot be written; earlier checkpoints stay."""
    with _making(folder, trainer.steps, keep) as (made, target):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of running without ranks
            dcp.save(_state(trainer), checkpoint_id=made)
        _on_first(lambda: _complete(trainer, made, target, position))
    return target


def save_together(
    trainers: Mapping[str, Trainer], folder: Path, number: int, position: Mapping[str, Any], keep: int = 1
) -> Path:
    """Write `FOLDER/step-NUMBER` with a checkpoint of each trainer under its name, atomically. Only for one process.
    Raises as `save` does."""
    with _making(folder, number, keep) as (made, target):
        for name, trainer in trainers.items():
            save(trainer, made / name, position)
        _rename(made, target)
    return target


def resume_together(trainers: Mapping[str, Trainer], folder: Path) -> tuple[int, dict[str, Any]] | None:
    """Load the newest checkpoint of `save_together` and return its number and position, or None. Raises as `resume`
    does."""
    found = checkpoints(folder)
    if not found:
        return None
    position: dict[str, Any] | None = None
    for name, trainer in trainers.items():
        position = resume(trainer, found[-1] / name)
        if position is None:
            raise TrainError(f"{found[-1]} has no checkpoint of {name}", REMOVE)
    assert position is not None
    return _number(found[-1]), position


def resume(trainer: Trainer, folder: Path) -> dict[str, Any] | None:
    """Load the newest checkpoint into the trainer and return its position, or None.

    Raises `TrainError` for a checkpoint of another model or a later version, and for a damaged one."""
    found = checkpoints(folder)
    return load(trainer, found[-1]) if found else None


def load(trainer: Trainer, path: Path) -> dict[str, Any]:
    """Load one checkpoint into the trainer and return its position. Raises `TrainError` as `resume` does; if reading
    failed midway, the trainer is unusable."""
    about = _about(path)
    if path.name != f"step-{about['step']}":
        raise TrainError(f"{path} is the checkpoint of step {about['step']}: its name is another's", REMOVE)
    state = _state(trainer)
    options = deepcopy(state["optimizer"]["param_groups"])
    try:
        check_model(trainer.scorer, about, path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = DescriptionReader(path, {*about["files"]}, _sizes(state))
            dcp.load(state, storage_reader=reader, planner=ValuesAsData())
        state["optimizer"]["param_groups"] = options  # the moments are the checkpoint's, no option is
        _put(trainer, state)
    except UNREADABLE as error:
        raise TrainError(f"{path} cannot be read: {_reason(error)}", REMOVE) from error
    trainer.steps = about["step"]
    position: dict[str, Any] = about["position"]
    return position


def _sizes(state: dict[str, Any]) -> dict[str, int]:
    """The bytes of each whole tensor, by the name that a checkpoint gives it."""
    flat = flatten_state_dict(state)[0]
    return {name: one.numel() * one.element_size() for name, one in flat.items() if isinstance(one, torch.Tensor)}


def _put(trainer: Trainer, state: Mapping[str, Any]) -> None:
    """Give the trainer what was read: weights, moments, the random generator."""
    set_state_dict(
        trainer.scorer,
        trainer.optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
        options=_parts(trainer),
    )
    torch.set_rng_state(state["random"])


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints, oldest first."""
    names = listed_below(folder) if folder.is_dir() else []
    numbers = sorted(int(number) for name in names if (number := name.removeprefix("step-")) != name and _plain(number))
    return [found for number in numbers if not (found := folder / f"step-{number}").is_symlink()]


def _plain(number: str) -> bool:
    return number.isascii() and number.isdecimal() and len(number) < 10 and str(int(number)) == number


def _state(trainer: Trainer) -> dict[str, Any]:
    model, optimizer = get_state_dict(trainer.scorer, trainer.optimizer, options=_parts(trainer))
    if trainer.scorer.options.lora is not None:  # do not count a tied head as frozen
        model = {name: value for name, value in model.items() if PART in name}
    return {"model": model, "optimizer": optimizer, "random": torch.get_rng_state()}


def _parts(trainer: Trainer) -> StateDictOptions:
    """The parts to store. For a model with adapters only these: its other weights never change."""
    return StateDictOptions(ignore_frozen_params=True, strict=trainer.scorer.options.lora is None)


@contextmanager
def _making(folder: Path, number: int, keep: int) -> Iterator[tuple[Path, Path]]:
    """A new folder to write to, and its name once the block ends; then all but the newest `keep` are removed. Raises
    `TrainError` if it cannot be written."""
    made, target = folder / f".new-step-{number}", folder / f"step-{number}"
    try:
        _on_first(lambda: _begin(made))
        yield made, target
    except (OSError, dcp.api.CheckpointException) as error:
        _on_first(lambda: shutil.rmtree(made, ignore_errors=True))
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        free = shutil.disk_usage(there).free / 1e9
        raise TrainError(
            f"no checkpoint can be written to {folder}: {_reason(error)}", f"Is the disk full? {free:.1f} GB are free."
        ) from error
    _on_first(lambda: _remove([path for path in checkpoints(folder) if _number(path) <= number][:-keep]))


def _number(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _begin(made: Path) -> None:
    _remove([made] if made.exists() else [])
    made.mkdir(parents=True)


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder)


def _complete(trainer: Trainer, made: Path, target: Path, position: Mapping[str, Any]) -> None:
    """Describe what was written, and give it its name."""
    sizes = {path.name: path.stat().st_size for path in made.iterdir()}
    about = {
        "format": FORMAT, "step": trainer.steps, "position": dict(position), "files": sizes,
        **described(trainer.scorer),
    }  # fmt: skip
    with (made / ABOUT).open("w") as file:
        json.dump(about, file)
        file.flush()
        os.fsync(file.fileno())
    _rename(made, target)


def _rename(made: Path, target: Path) -> None:
    """Rename the complete folder durably."""
    shutil.rmtree(target, ignore_errors=True)
    made.rename(target)
    place = os.open(target.parent, os.O_RDONLY)
    os.fsync(place)
    os.close(place)


def _about(path: Path) -> dict[str, Any]:
    """What `about.json` says, after checking that every file is there and whole. Raises `TrainError`."""
    try:
        about: dict[str, Any] = json_value(read_named(path / ABOUT, MOST_ABOUT))
        version, files = about["format"], about["files"].items()
        if not isinstance(about["step"], int) or not isinstance(about["position"], dict):
            raise ValueError("its step is no number, or its position no table")
        if version > FORMAT:
            raise TrainError(f"{path} was written by a later version (format {version})", "Update selfplay.")
        for name, size in files:
            here = path / name
            if "/" in name or here.is_symlink() or not here.is_file():
                raise TrainError(f"{here} is no regular file of the checkpoint", REMOVE)
            if (there := here.stat().st_size) != size:
                raise TrainError(f"{path / name} has {there} bytes of {size}", REMOVE)
    except (OSError, UntrustedDataError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise TrainError(f"{path} is not a whole checkpoint: {_reason(error)}", REMOVE) from error
    return about


def _on_first(act: Callable[[], Any]) -> None:
    """Run `act` on the first rank while the others wait. Its `OSError` is raised on all ranks."""
    failed: list[OSError | None] = [None]
    if first_rank():
        try:
            act()
        except OSError as error:
            failed = [error]
    if dist.is_initialized():
        dist.broadcast_object_list(failed)
    if failed[0] is not None:
        raise failed[0]


def _reason(error: BaseException) -> str:
    """Its first line; for one of several ranks, the first rank's."""
    of_ranks = [found[0] for found in getattr(error, "failures", {}).values()]
    return (str(of_ranks[0] if of_ranks else error) or type(error).__name__).strip().splitlines()[0][:300]
