"""What a result was made from changes with the episodes that were read, and with nothing else."""

from pathlib import Path

import pytest

from selfplay.commands.learn import vocabulary_of
from selfplay.commands.sources import credited_sources, lesson_sources, model_files
from selfplay.curriculum import Attempt, AttemptFigures, open_curriculum
from selfplay.update.errors import LearningError


def attempt(run: Path, number: int, policy: str = "scripted", resolved: bool = False) -> None:
    with open_curriculum(run) as pool:
        pool.attempts.add(Attempt("b", policy, number, resolved, "x", "", "", AttemptFigures()))


def test_episodes(tmp_path: Path) -> None:
    attempt(tmp_path, 0)
    credit, lessons = credited_sources([tmp_path], None, "refuse"), lesson_sources([tmp_path])
    attempt(tmp_path, 0, "other")  # `learn` reads one policy's attempts, `sft` those that resolved
    assert (credited_sources([tmp_path], None, "refuse"), lesson_sources([tmp_path])) == (credit, lessons)
    attempt(tmp_path, 1, resolved=True)
    assert credited_sources([tmp_path], None, "refuse") != credit and lesson_sources([tmp_path]) != lessons


def test_the_files_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    before = model_files(str(tmp_path))
    assert model_files(str(tmp_path)) == before and model_files("org/name") == ""
    (tmp_path / "model.safetensors").write_text("weights")
    assert model_files(str(tmp_path)) != before


def test_a_model_in_a_home_that_nobody_has() -> None:
    for asking in (model_files, vocabulary_of):
        with pytest.raises(LearningError, match="no home of a user is known by that name"):
            asking("~nosuchuser/model")
