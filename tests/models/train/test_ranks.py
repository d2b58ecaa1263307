"""Two gloo ranks with FSDP2 give the parameters of one, and read each other's checkpoints."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
import train_ranks
from safetensors.torch import load_file

from selfplay.train import checkpoint
from selfplay.train.weights import save_model

PROGRAM = Path(train_ranks.__file__)


def ranks(folder: Path, world: int, kind: str, *more: object) -> Mapping[str, torch.Tensor]:
    """The weights that `world` ranks end with."""
    folder.mkdir()
    paths = [str(PROGRAM.parent), str(PROGRAM.parent.parent), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    argv, what = [sys.executable, str(PROGRAM)], [str(folder), kind, *map(str, more)]
    started = [
        subprocess.Popen([*argv, str(rank), str(world), *what], env=env, stderr=subprocess.PIPE)
        for rank in range(world)
    ]
    ended = [(process.communicate(timeout=280)[1], process.returncode) for process in started]
    assert [code for _, code in ended] == [0] * world, b"\n".join(said for said, _ in ended).decode()[-3000:]
    return load_file(folder / "model" / "model.safetensors")


def close(found: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor]) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        torch.testing.assert_close(found[name], values, atol=1e-5, rtol=1e-5, msg=name)


def alone(folder: Path, kind: str) -> Mapping[str, torch.Tensor]:
    """The run on one process, without `torch.distributed`."""
    learner = train_ranks.trainer(folder, kind)
    train_ranks.run(learner, folder)
    save_model(learner.scorer, folder / "model", dtype=torch.float32)
    return load_file(folder / "model" / "model.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_ranks_train_as_one_and_one_goes_on_where_they_stopped(tmp_path: Path, kind: str) -> None:
    wanted = alone(tmp_path / "one", kind)
    close(ranks(tmp_path / "two", 2, kind), wanted)
    # Full: other weights, which are all replaced. LoRA: a checkpoint holds the adapters alone.
    begun = train_ranks.tiny_llama(seed=5 if kind == "full" else 0, layers=3)
    learner = train_ranks.trainer(tmp_path, kind, begun)
    assert checkpoint.resume(learner, tmp_path / "two" / "checkpoints") == {"batch": 2}
    train_ranks.run(learner, tmp_path)
    save_model(learner.scorer, tmp_path / "model", dtype=torch.float32)
    close(load_file(tmp_path / "model" / "model.safetensors"), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_ranks_go_on_where_one_stopped(tmp_path: Path, kind: str) -> None:
    wanted = alone(tmp_path / "one", kind)
    close(ranks(tmp_path / "two", 2, kind, tmp_path / "one" / "checkpoints"), wanted)
