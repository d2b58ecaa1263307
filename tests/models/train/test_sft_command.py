"""`selfplay sft` as a user runs it, on lessons of a real run with a real model; and what it refuses."""

import errno
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from models.update.conftest import tiny_folder
from safetensors.torch import load_file

from selfplay.artifact.reading import UntrustedDataError
from selfplay.commands import sft as command
from selfplay.commands import sft_training
from selfplay.commands.sft import SftOrder, sft, split
from selfplay.sft.sequences import Lecture
from selfplay.train.errors import TrainError
from selfplay.train.packing import Example
from selfplay.train.step import Trainer
from selfplay.train.weights import write_model, written_dtype

SILENT = SimpleNamespace(say=lambda line: None, expect=lambda total, doing: None, done=lambda line: None)


def selfplay(*arguments: object) -> Any:
    argv = [sys.executable, "-m", "selfplay", *(str(argument) for argument in arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=600, env={**os.environ, "COLUMNS": "200"})


def found(families: str) -> list[tuple[Lecture, Example]]:
    """A lesson for each letter; the letter is its bug."""
    return [
        (
            Lecture(str(number), "solver", family, [1, 2], [0, 1], False),
            Example(f"run/{number}-{family}", [1, 2], [0, 1]),
        )
        for number, family in enumerate(families)
    ]


def test_bugs_are_held_out_and_not_lessons() -> None:
    """Ten bugs with two lessons each: a fifth is two bugs, four lessons; the same seed holds out the same."""
    order = SftOrder((Path("run"),), "model", Path("out"), held_out=0.2)
    training, held = split(found("abcdefghij" * 2), order)
    assert (len(training), len(held)) == (16, 4)
    bugs = [{example.name[-1] for example in part} for part in (training, held)]
    assert len(bugs[1]) == 2 and not bugs[0] & bugs[1]
    assert (
        split(found("jihgfedcba"), order)[1] and {e.name[-1] for e in split(found("jihgfedcba"), order)[1]} == bugs[1]
    )


@pytest.mark.parametrize("name", [".new-model", "adapter", "checkpoints/within", "config.json"])
def test_a_result_is_not_written_through_a_link(tmp_path: Path, name: str) -> None:
    """Of a folder that somebody shared: all files of the folder behind `.new-model` were moved into the result."""
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    (mine / "id_rsa").write_text("secret")
    (out / name).parent.mkdir(parents=True)
    (out / name).symlink_to(mine)
    with pytest.raises(UntrustedDataError, match="is not a regular file"):
        sft(SftOrder((tmp_path / "run",), "model", out), SILENT)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="is not a regular file"):
        write_model(SimpleNamespace(), out, "model")  # type: ignore[arg-type]
    assert [path.name for path in mine.iterdir()] == ["id_rsa"]


def test_one_bug_cannot_be_split() -> None:
    order = SftOrder((Path("run"),), "model", Path("out"))
    with pytest.raises(TrainError, match="lessons of 1 bug, of which 1 would be held out"):
        split(found("aaa"), order)


def test_no_lesson_says_what_took_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, smollm2: Path) -> None:
    def nothing(pool: Any, chat: Any, wanted: Any, counts: Any) -> Any:
        counts["the call format cannot say it"] += 3
        return iter(())

    monkeypatch.setattr(command, "lectures", nothing)
    monkeypatch.setattr(command, "read_pool", lambda run: nullcontext())
    monkeypatch.setattr(command, "lesson_sources", lambda runs: "")
    with pytest.raises(TrainError, match=r"no lesson to learn from in run \(the call format cannot say it: 3\)"):
        sft(SftOrder((Path("run"),), str(smollm2), tmp_path / "out"), SILENT)


@pytest.fixture(scope="module")
def lessons(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two bugs with a demonstration of each."""
    run = tmp_path_factory.mktemp("lessons") / "run"
    assert selfplay("curriculum", shop, "--out", run, "--bugs", 2).returncode == 0
    assert selfplay("trajectories", "demonstrate", run, "--short").returncode == 0
    return run


@pytest.fixture(scope="module")
def tiny(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny", smollm2, 49_152)


def plays(run: Path, policy: str) -> None:
    """A model attempts the bugs of the run, a few tokens at each."""
    short = ("--option", "max_tokens=12", "--option", "calls=1", "--option", "context=4096")
    played = selfplay("solve", run, "--attempts", 1, "--policy", policy, *short, "--json")
    assert played.returncode == 0, played.stderr


@pytest.mark.slow
def test_lessons_of_a_run_make_a_model_that_plays(lessons: Path, smollm2: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    how = ("--model", smollm2, "--out", out, "--epochs", 1, "--batch", 2, "--lr", 2e-5, "--warmup", 0, "--json")
    how = (*how, "--budget", 1792, "--too-long", "cut", "--held-out", 0.5)
    how = (*how, "--precision", "fp32")  # bf16 takes minutes where a processor imitates it
    done = selfplay("sft", lessons, *how)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    loss = summary["held_out_loss"]
    told = summary["lessons"]
    assert loss["after"] < loss["before"] and told["rendered"] == told["injector"] + told["solver"]
    assert told["solver"] == 2
    assert "epoch 1, step 1 of" in done.stderr
    names = {path.name for path in out.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "sft.json"} <= names and "checkpoints" not in names
    before, after = (load_file(folder / "model.safetensors") for folder in (smollm2, out))
    assert before.keys() == after.keys()
    assert {value.dtype for value in after.values()} == {torch.float32}  # as it was computed
    again = selfplay("sft", lessons, *how)
    assert json.loads(again.stdout) == summary and "holds the result of this run already" in again.stderr
    plays(lessons, f"transformers:{out}")
    other = selfplay("sft", lessons, *how, "--seed", 1)
    assert other.returncode == 2 and "holds the result of another run, with seed 0, not 1" in other.stderr


def test_a_model_is_written_as_it_was_computed_or_as_its_source_is(smollm2: Path) -> None:
    assert written_dtype(smollm2, "fp32") == torch.float32
    assert written_dtype(smollm2, "bf16") == torch.bfloat16  # SmolLM2's own


@pytest.mark.slow
def test_adapters_learn_the_lessons_of_a_run_and_the_sum_plays(lessons: Path, tiny: Path, tmp_path: Path) -> None:
    """OUT is the model with scale B A added to the weights that have adapters, and no other weight changed; the scale
    is 2, alpha being twice the rank."""
    out = tmp_path / "out"
    how = ("--lora", 4, "--epochs", 2, "--lr", 1e-2, "--budget", 1280, "--too-long", "cut", "--held-out", 0.5)
    done = selfplay("sft", lessons, "--model", tiny, "--out", out, *how, "--precision", "fp32", "--json")
    assert done.returncode == 0, done.stderr
    loss = json.loads(done.stdout)["held_out_loss"]
    assert loss["after"] < loss["before"]
    before, after = (load_file(folder / "model.safetensors") for folder in (tiny, out))
    adapter = load_file(out / "adapter" / "adapter_model.safetensors")
    sums = dict(before)
    for name, down in adapter.items():
        if "lora_A" in name:
            stem = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
            sums[f"{stem}.weight"] = before[f"{stem}.weight"] + 2 * adapter[name.replace("lora_A", "lora_B")] @ down
    assert after.keys() == sums.keys() and len(adapter) == 2 * 7 * 2  # A and B of seven modules in two layers
    for name, value in sums.items():
        torch.testing.assert_close(after[name], value, msg=name)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved == {name for name in before if "_proj" in name}
    plays(lessons, f"transformers:{out}")


@pytest.mark.slow
def test_a_full_disk_keeps_the_checkpoint_from_which_the_command_goes_on(
    lessons: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "out"
    order = SftOrder((lessons,), str(tiny), out, budget=1280, too_long="cut", held_out=0.5, epochs=1)
    monkeypatch.setattr(sft_training, "write_model", full)
    with pytest.raises(TrainError, match=rf"{out} cannot be written: No space left on device") as error:
        sft(order, SILENT)
    assert "The same command resumes from its last checkpoint." in error.value.hint
    monkeypatch.undo()
    monkeypatch.setattr(Trainer, "step", lambda *_: pytest.fail("it has learned all epochs already"))
    assert sft(order, SILENT)["stopped"] == "after all epochs" and (out / "model.safetensors").is_file()
