"""`selfplay learn --dry-run` refuses what `selfplay learn` then would."""

import json
from array import array
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from letters import Letters

from selfplay.agent import Finish, Trajectory
from selfplay.agent.model import Message
from selfplay.agent.tape import SampledSpan, Segment
from selfplay.agent.taped_answers import TokenizerMismatch
from selfplay.agent.trajectory import Record
from selfplay.agent.trajectory_file import save
from selfplay.commands import learn as command
from selfplay.commands.credit import CreditOrder
from selfplay.commands.learn import LearnOrder, dry_run
from selfplay.curriculum import Attempt, AttemptFigures, open_curriculum
from selfplay.curriculum.attempts import attempt_trajectory
from selfplay.train.errors import TrainError
from selfplay.update.recipe import Recipe

SILENT: Any = SimpleNamespace(say=lambda line: None, expect=lambda total, doing: None)
CONVERSATION = (Message("system", "S"), Message("user", "U"), Message("assistant", "good"))
TAPE = "<sS><uU><agood>"


def run_of(folder: Path, text: str = TAPE) -> Path:
    """Two attempts at one bug, of which one resolves it: both teach."""
    mask, logprobs = array("b", [*[0] * 10, *[1] * 5]), array("d", [-0.5]) * 15
    segment = Segment(
        array("i", map(ord, text)),
        mask,
        logprobs,
        (0, 0),
        "solver",
        "stop",
        (SampledSpan(10, 15, (0, 0), "stop", False),),
    )
    with open_curriculum(folder) as pool:
        for number in range(2):
            name = attempt_trajectory("b", "scripted", number)
            figures = AttemptFigures(finish="submitted", usage={"completion_tokens": 5})
            pool.attempts.add(Attempt("b", "scripted", number, not number, "x", "", "", figures, trajectory=name))
            told = Trajectory("solver", "m", Finish.SUBMITTED, record=Record((CONVERSATION,), (segment,)))
            save(told, folder / "trajectories" / name)
    return folder


def order(tmp_path: Path, run: Path, **settings: int) -> LearnOrder:
    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 128, **settings}))
    return LearnOrder(CreditOrder((run,)), str(tmp_path), Path())


@pytest.fixture(autouse=True)
def tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "load_tokenizer", lambda model: Letters())


def test_what_learn_refuses(tmp_path: Path) -> None:
    """15 tokens each; the highest id is that of the letter `u`, 117."""
    asked = order(tmp_path, run_of(tmp_path / "run"))
    assert [one.teaches for one in dry_run(asked, SILENT)] == [True, True]
    tight = replace(asked, credit=replace(asked.credit, recipe=Recipe(budget=14)))
    with pytest.raises(TrainError, match=r"b 0 #0 has 15 tokens, the budget of a row is 14"):
        dry_run(tight, SILENT)
    with pytest.raises(TrainError, match="has id 117, the vocabulary ends at 117"):
        dry_run(order(tmp_path, tmp_path / "run", vocab_size=117), SILENT)
    with pytest.raises(TrainError, match="has 15 tokens, the model's context ends at 14"):
        dry_run(order(tmp_path, tmp_path / "run", max_position_embeddings=14), SILENT)


def test_a_foreign_template(tmp_path: Path) -> None:
    with pytest.raises(TokenizerMismatch, match="b 0 was taped with another tokenizer or chat template"):
        dry_run(order(tmp_path, run_of(tmp_path / "run", TAPE.replace("<", "["))), SILENT)
