"""A tiny random model with the tokenizer of a real one, for trainings in both roles."""

from pathlib import Path

import pytest
from models.update.conftest import tiny_folder


@pytest.fixture(scope="module")
def tiny(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny", smollm2, 49_152)
