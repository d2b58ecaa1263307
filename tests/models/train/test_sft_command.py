"""`selfplay sft` as a user runs it, on lessons of a real run with a real model; and what it refuses."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from safetensors.torch import load_file

from selfplay.commands import sft as command
from selfplay.commands.sft import SftOrder, sft, split
from selfplay.sft.sequences import Lecture
from selfplay.train.errors import TrainError
from selfplay.train.packing import Example

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


def test_one_bug_cannot_be_split() -> None:
    order = SftOrder((Path("run"),), "model", Path("out"))
    with pytest.raises(TrainError, match="lessons of 1 bugs, of which 1 would be held out"):
        split(found("aaa"), order)


def test_no_lesson_says_what_took_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, smollm2: Path) -> None:
    def nothing(pool: Any, chat: Any, wanted: Any, counts: Any) -> Any:
        counts["the call format cannot say it"] += 3
        return iter(())

    monkeypatch.setattr(command, "lectures", nothing)
    monkeypatch.setattr(command, "read_pool", lambda run: nullcontext())
    with pytest.raises(TrainError, match=r"no lesson to learn from in run \(the call format cannot say it: 3\)"):
        sft(SftOrder((Path("run"),), str(smollm2), tmp_path / "out"), SILENT)


@pytest.mark.slow
def test_lessons_of_a_run_make_a_model_that_plays(shop: Path, smollm2: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    assert selfplay("curriculum", shop, "--out", run, "--bugs", 2).returncode == 0
    assert selfplay("trajectories", "demonstrate", run).returncode == 0
    how = ("--model", smollm2, "--out", out, "--epochs", 1, "--batch", 2, "--lr", 2e-5, "--warmup", 0, "--json")
    how = (*how, "--budget", 1280, "--too-long", "cut", "--held-out", 0.5)
    done = selfplay("sft", run, *how)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    loss = summary["held_out_loss"]
    assert loss["after"] < loss["before"] and summary["lessons"]["rendered"] == summary["lessons"]["injector"]
    assert "epoch 1, step 1 of" in done.stderr
    names = {path.name for path in out.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "sft.json"} <= names and "checkpoints" not in names
    before, after = (load_file(folder / "model.safetensors") for folder in (smollm2, out))
    assert before.keys() == after.keys()
    assert {name: value.dtype for name, value in before.items()} == {n: v.dtype for n, v in after.items()}
    again = selfplay("sft", run, *how)
    assert json.loads(again.stdout) == summary and "holds the result of this run already" in again.stderr
    short = ("--option", "max_tokens=12", "--option", "calls=1", "--option", "context=4096")
    played = selfplay("solve", run, "--attempts", 1, "--policy", f"transformers:{out}", *short, "--json")
    assert played.returncode == 0, played.stderr
    other = selfplay("sft", run, *how, "--seed", 1)
    assert other.returncode == 2 and "holds the result of another run, with seed 0, not 1" in other.stderr
