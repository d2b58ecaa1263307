"""What is no regular file, where a user's file is read: refused, never waited for and never read without end."""

import os
from pathlib import Path

import pytest

from selfplay.agent.model import ModelError
from selfplay.commands.learn import vocabulary_of
from selfplay.commands.result_folder import finished
from selfplay.errors import SelfplayError
from selfplay.importers.rows import ImportRefused, read_rows
from selfplay.policies.weights import shapes
from selfplay.update.errors import LearningError


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that nobody writes to."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.timeout(20)
def test_the_settings_of_a_model(pipe: Path) -> None:
    pipe.rename(pipe.with_name("config.json"))
    with pytest.raises(LearningError, match=r"config\.json is not a regular file"):
        vocabulary_of(str(pipe.parent))


@pytest.mark.timeout(20)
def test_the_weights_of_a_model(pipe: Path) -> None:
    pipe.rename(pipe.with_name("model.safetensors"))
    with pytest.raises(ModelError, match="is not a regular file"):
        shapes(pipe.parent)


@pytest.mark.timeout(20)
def test_the_summary_of_a_result(pipe: Path) -> None:
    with pytest.raises(SelfplayError, match="is not a regular file"):
        finished(pipe, {}, "model", SelfplayError)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("ending", [".jsonl", ".json", ".parquet"])
def test_the_rows_of_a_dataset(pipe: Path, ending: str) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    rows = pipe.rename(pipe.with_name(f"rows{ending}"))
    with pytest.raises(ImportRefused, match="is not a regular file"):
        next(read_rows(rows))
