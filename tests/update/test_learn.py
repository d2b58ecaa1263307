"""`selfplay learn` up to where torch is needed: the dry run, the folder that appears whole or not at all, refusals."""

import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_fixtures import Command
from typer.testing import CliRunner

from selfplay.cli import app
from selfplay.commands import learn as command
from selfplay.commands.credit import CreditOrder
from selfplay.commands.learn import SUMMARY, LearnOrder, dry_run, learn, vocabulary_of
from selfplay.update.errors import LearningError
from selfplay.update.recipe import Recipe

SILENT: Any = SimpleNamespace(say=lambda line: None, expect=lambda total, doing: None)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The settings of a model; its weights are not needed."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"vocab_size": 100}')
    return tmp_path / "model"


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Everything before the update is there; the update is what the test says."""

    def updating(update: Callable[..., Any]) -> None:
        for name in ("imported", "load_tokenizer", "ChatFormat", "require_gradient"):
            monkeypatch.setattr(command, name, lambda *_: None)
        monkeypatch.setattr(command, "credited_runs", lambda *_: [])
        monkeypatch.setattr(command, "credited_sources", lambda *_: "episodes")
        monkeypatch.setitem(
            sys.modules,
            "selfplay.commands.learn_update",
            SimpleNamespace(updated=update),  # type: ignore[arg-type]
        )

    return updating


def order(model: Path, out: Path, **choices: Any) -> LearnOrder:
    return LearnOrder(CreditOrder((out.parent / "run",), recipe=Recipe(**choices)), str(model), out)


def written(order: LearnOrder, rollouts: Any, folder: Path, watcher: Any) -> dict[str, Any]:
    (folder / "model.safetensors").write_text("weights")
    return {"step": {"loss": 1.0}}


@pytest.mark.slow
def test_the_dry_run_prints_the_table_of_credit_without_torch(
    selfplay: Command, attempted: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (attempted, "--policy", "searcher")
    dry = selfplay("learn", *asked, "--model", model, "--dry-run")
    assert dry.code == 0 and "would be trained on" in dry.out and dry.out == selfplay("credit", *asked).out
    for module in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, module, None)  # importing it fails
    found = dry_run(LearnOrder(CreditOrder((attempted,), "searcher"), str(model), Path()), SILENT)
    assert {one.credit.no_gradient for one in found} == {"no tokens", "never attempted"}
    twice = dry_run(LearnOrder(CreditOrder((attempted, attempted), "searcher"), str(model), Path()), SILENT)
    assert len(twice) == 2 * len(found) and twice[0].played.episode.name.startswith(f"{attempted}/")


def test_a_dry_run_takes_no_place(selfplay: Command, attempted: Path, model: Path) -> None:
    done = selfplay("learn", attempted, "--model", model, "--dry-run", "--out", "new")
    assert done.code == 2 and "--out" in done.err and "writes nothing" in done.err


def test_the_folder_appears_whole_and_the_same_command_does_nothing_again(
    ready: Any, model: Path, tmp_path: Path
) -> None:
    ready(written)
    out = tmp_path / "deep" / "out"
    (tmp_path / "deep" / ".out.new").mkdir(parents=True)
    (tmp_path / "deep" / ".out.new" / "half.safetensors").touch()  # of a kill
    summary = learn(order(model, out), SILENT)
    assert {path.name for path in out.iterdir()} == {"model.safetensors", SUMMARY}
    assert json.loads((out / SUMMARY).read_text()) == summary and summary["step"] == {"loss": 1.0}
    ready(lambda *_: pytest.fail("it is there already"))
    assert learn(order(model, out), SILENT) == summary
    before = json.loads((out / SUMMARY).read_text())
    del before["settings"]["recipe"]["length_penalty"]  # of a version that had none
    (out / SUMMARY).write_text(json.dumps(before))
    assert learn(order(model, out), SILENT) == before
    with pytest.raises(LearningError, match="holds the result of another update, with recipe"):
        learn(order(model, out, lr=1.0), SILENT)


def test_an_update_is_not_that_of_other_episodes_or_another_model(
    ready: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(written)
    learn(order(model, tmp_path / "out"), SILENT)
    with monkeypatch.context() as patch:
        patch.setattr(command, "credited_sources", lambda *_: "more episodes")
        with pytest.raises(LearningError, match="with episodes episodes, not more episodes"):
            learn(order(model, tmp_path / "out"), SILENT)
    (model / "model.safetensors").write_text("new weights")
    with pytest.raises(LearningError, match="holds the result of another update, with model_files"):
        learn(order(model, tmp_path / "out"), SILENT)


@pytest.mark.parametrize("how", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_ends_early_leaves_nothing(ready: Any, model: Path, tmp_path: Path, how: BaseException) -> None:
    def failing(order: LearnOrder, rollouts: Any, folder: Path, watcher: Any) -> Any:
        (folder / "half.safetensors").write_text("weights")
        raise how

    ready(failing)
    out = tmp_path / "out"
    with pytest.raises((LearningError, KeyboardInterrupt)) as error:
        learn(order(model, out), SILENT)
    assert not out.exists() and not (tmp_path / ".out.new").exists()
    if isinstance(how, OSError):
        assert str(error.value).startswith(f"{out} cannot be written: No space left on device\n  Is the disk full? ")


def test_ctrl_c_ends_the_command_with_a_line(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "learn", interrupted)
    done = CliRunner().invoke(app, ["learn", str(tmp_path), "--model", str(model), "--out", str(tmp_path / "out")])
    assert done.exit_code == 130 and "interrupted; nothing was written, the same command begins again" in done.stderr


def test_a_folder_that_holds_something_else_is_left_alone(ready: Any, model: Path, tmp_path: Path) -> None:
    ready(written)
    for place in (model, model / "config.json"):
        with pytest.raises(LearningError, match="exists and is not the result of an update"):
            learn(order(model, place), SILENT)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / SUMMARY).write_text("{")
    with pytest.raises(LearningError, match=r"learn\.json is damaged"):
        learn(order(model, damaged), SILENT)


def test_the_size_of_a_vocabulary(model: Path, tmp_path: Path) -> None:
    assert vocabulary_of(str(model)) == 100
    (model / "config.json").write_text('{"text_config": {"vocab_size": 7}}')
    assert vocabulary_of(str(model)) == 7
    for text in ("{}", "[]", "{"):
        (model / "config.json").write_text(text)
        with pytest.raises(LearningError, match="is not a model"):
            vocabulary_of(str(model))
    with pytest.raises(LearningError, match="is not a model"):
        vocabulary_of(str(tmp_path))


def test_a_run_without_tapes_teaches_nothing(attempted: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its episodes are a script's: the error says so by reason, and nothing is written."""
    for name in ("imported", "load_tokenizer", "ChatFormat"):
        monkeypatch.setattr(command, name, lambda *_: None)
    out = attempted.parent / "out"
    asked = LearnOrder(CreditOrder((attempted,), "searcher"), str(model), out)
    with pytest.raises(LearningError, match=r"no episode teaches anything \(\d no tokens, \d never attempted\)"):
        learn(asked, SILENT)
    assert not out.exists()
