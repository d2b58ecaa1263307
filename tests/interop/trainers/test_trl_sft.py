"""TRL's SFTTrainer on `selfplay trajectories export`, as it is: one real step with a tiny random model."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset, load_dataset
from run_fixtures import Command
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

UNTRAINED = -100


class Counting(SFTTrainer):
    """Keeps by how many tokens the trainer divides the loss of a step, and what it showed the model."""

    divisor = 0
    trained = 0

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        self.divisor = int(num_items_in_batch)
        self.trained += int((inputs["labels"] != UNTRAINED).sum())
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)


@pytest.fixture(scope="module")
def lessons(selfplay: Command, shop: Path, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the recipe of docs/lessons.md exports of two bugs: a file of both roles."""
    folder = tmp_path_factory.mktemp("lessons")
    run, out = folder / "run", folder / "lessons.jsonl"
    for command in (
        ("curriculum", shop, "--out", run, "--bugs", 2),
        ("trajectories", "demonstrate", run),
        ("trajectories", "export", run, "--out", out, "--tokenizer", tiny, "--most-tokens", 8192),
    ):
        done = selfplay(*command)
        assert done.code == 0, done.err
    return out


def loss_by_hand(rows: list[dict[str, Any]], tiny: Path) -> float:
    """The mean cross entropy of the labels that are trained: row by row, position by position, no padding."""
    model, said = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32), []
    for row in rows:
        with torch.no_grad():
            logprobs = model(torch.tensor([row["input_ids"]])).logits[0].log_softmax(-1)
        said += [-logprobs[at - 1, one] for at, one in enumerate(row["labels"]) if one != UNTRAINED]
    return float(torch.stack(said).mean())


def test_a_step_trains_the_labels_and_nothing_else(lessons: Path, tiny: Path, tmp_path: Path) -> None:
    """One step over all rows. No row begins with a trained token, since a prompt comes first, so that no label is lost
    by the shift of the loss: the trainer divides by all labels that are not -100, and its loss is their mean."""
    rows = [json.loads(line) for line in lessons.read_text().splitlines()]
    assert {row["role"] for row in rows} == {"injector", "solver"} and all(
        row["labels"][0] == UNTRAINED for row in rows
    )
    expected = sum(one != UNTRAINED for row in rows for one in row["labels"])
    data = load_dataset("json", data_files=str(lessons), split="train", cache_dir=str(tmp_path / "cache"))
    config = SFTConfig(
        str(tmp_path), max_length=8192, max_steps=1, per_device_train_batch_size=1,
        gradient_accumulation_steps=len(rows), learning_rate=1e-3, report_to=[], save_strategy="no", bf16=False,
        logging_steps=1, disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False,
    )  # fmt: skip
    torch.set_num_threads(1)
    trainer = Counting(
        AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32), args=config, train_dataset=data,
        processing_class=AutoTokenizer.from_pretrained(tiny),
    )  # fmt: skip
    trainer.train()
    assert 0 < expected < sum(len(row["input_ids"]) for row in rows)
    assert trainer.trained == trainer.divisor == expected
    assert trainer.state.log_history[0]["loss"] == pytest.approx(loss_by_hand(rows, tiny), abs=1e-3)


def test_what_is_trained_is_what_was_said(lessons: Path, tiny: Path) -> None:
    """Read back, the trained tokens are the messages of the assistant, each with the end of a turn after it; and all
    tokens are what the chat template makes of `messages`."""
    tokenizer, data = AutoTokenizer.from_pretrained(tiny), Dataset.from_json(str(lessons))
    assert isinstance(data, Dataset) and len(data) > 2
    for row in data:
        labels = [one for one in row["labels"] if one != UNTRAINED]
        said = [message["content"] + tokenizer.eos_token for message in row["messages"] if message["train"]]
        assert tokenizer.decode(labels) == "".join(said)
        rendered = tokenizer.apply_chat_template(row["messages"], tokenize=False)
        assert tokenizer.decode(row["input_ids"]) == rendered.removesuffix("\n")
