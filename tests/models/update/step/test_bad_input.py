"""What an update of a stored run refuses, with a model that is small enough to try it all on a real run."""

import json
import math
import resource
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from models.update.conftest import SILENT, tiny_folder
from safetensors.torch import load_file

from selfplay.agent.taped_answers import TokenizerMismatch
from selfplay.agent.trajectory_file import load, save
from selfplay.cli.learn import told
from selfplay.commands.credit import CreditOrder
from selfplay.commands.learn import LearnOrder, learn
from selfplay.train.errors import StepRefused, TrainError
from selfplay.update.errors import LearningError, NothingToLearn
from selfplay.update.recipe import Recipe

pytestmark = pytest.mark.slow


def learned(run: Path, model: Path, out: Path, **choices: Any) -> dict[str, Any]:
    recipe = Recipe(**{"precision": "fp32", **choices})
    return learn(LearnOrder(CreditOrder((run,), recipe=recipe), str(model), out), SILENT)


def refusal(kind: type[Exception], run: Path, model: Path, out: Path, **choices: Any) -> str:
    """What it says; nothing is left of an update that was refused."""
    with pytest.raises(kind) as error:
        learned(run, model, out, **choices)
    assert not out.exists() and not out.with_name(f".{out.name}.new").exists()
    return str(error.value)


def test_an_update_and_the_same_command_again(tiny_run: Path, tiny: Path, tmp_path: Path) -> None:
    """bf16 would keep none of a step of 1e-6, so the weights are written in float32."""
    out = tmp_path / "out"
    summary = learned(tiny_run, tiny, out)
    assert summary == json.loads((out / "learn.json").read_text())
    assert "solver: trained on 2 of 2 episodes; rewards -1.00 to +1.00, mean +0.000" in told(summary, out)
    assert summary["settings"]["recipe"]["lr"] == 1e-6 and summary["step"]["step"] == 1
    assert [row["reward"] for row in summary["table"]] == ["-1.000", "+0.100", "+1.000", "-1.000"]
    before, after = (load_file(folder / "model.safetensors") for folder in (tiny, out))
    moved = max(float((after[name] - before[name]).abs().max()) for name in before)
    assert before.keys() == after.keys() and moved == pytest.approx(1e-6, rel=0.05)
    assert learned(tiny_run, tiny, out) == summary  # its seconds, too: it is not made again


def test_a_model_that_did_not_play(tiny_run: Path, tiny: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(tiny, tmp_path / "other"))
    template = other / "chat_template.jinja"
    template.write_text(template.read_text().replace("<|im_start|>", "<|im_end|>"))
    said = refusal(TokenizerMismatch, tiny_run, other, tmp_path / "out")
    assert "000000-injector was taped with another tokenizer or chat template" in said
    assert "Train the model that played it" in said


def test_a_vocabulary_that_the_tape_exceeds(tiny_run: Path, smollm2: Path, tmp_path: Path) -> None:
    small = tiny_folder(tmp_path / "small", smollm2, 1000)
    said = refusal(TrainError, tiny_run, small, tmp_path / "out")
    assert "the vocabulary ends at 1000" in said and "Is it a rollout of another tokenizer?" in said


def test_a_sequence_longer_than_the_budget(tiny_run: Path, tiny: Path, tmp_path: Path) -> None:
    said = refusal(TrainError, tiny_run, tiny, tmp_path / "out", budget=1000)
    assert "-injector #0 has " in said and "the budget of a row is 1000" in said


def test_a_loss_that_is_no_number(tiny_run: Path, tiny: Path, tmp_path: Path) -> None:
    """One log-probability on a tape is NaN: the step is refused, the batch kept beside the folder."""
    run = Path(shutil.copytree(tiny_run, tmp_path / "run", symlinks=True))
    path = run / "trajectories" / "000001-injector.jsonl.zst"
    played = load(path)
    (segment,) = played.record.segments
    segment.logprobs[segment.stretches[0].start] = math.nan
    save(replace(played, record=replace(played.record, segments=(segment,))), path)
    said = refusal(StepRefused, run, tiny, tmp_path / "out")
    kept = tmp_path / "out-refused" / "step-1.json"
    assert "step 1 was not taken: its loss is nan" in said and str(kept) in said
    assert len(json.loads(kept.read_text())["examples"]) == 4


def test_no_episode_that_teaches(tiny_run: Path, tiny: Path, tmp_path: Path) -> None:
    """All that was done is as good: every reward is the baseline."""
    equal = {"failed": 1.0, "invalid": 1.0, "valid": "consistency"}
    said = refusal(NothingToLearn, tiny_run, tiny, tmp_path / "out", **equal)
    assert "no episode teaches anything (4 zero advantage)" in said


def test_a_full_disk(tiny_run: Path, tiny: Path, tmp_path: Path) -> None:
    """A limit of 1 MB a file stands for it: the weights take 3 MB."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limit[1]))
    try:
        said = refusal(LearningError, tiny_run, tiny, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert "cannot be written" in said and "Is the disk full?" in said
