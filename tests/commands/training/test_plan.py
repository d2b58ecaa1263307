"""The sizes of a model whose folder is named: a stranger's config.json is bounded, and refused by name."""

from pathlib import Path

import pytest

from selfplay.commands.training.plan import known_shape
from selfplay.loop.planning.shapes import SMOLLM2, PlanError


def test_a_model_known_by_its_name_and_one_that_is_not() -> None:
    assert known_shape("smollm2") == SMOLLM2 and known_shape("nobody/knows") is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "config.json cannot be read"),
        ("{", "config.json cannot be read"),
        ("[]", "has no settings"),
        ("{}", "has no num_hidden_layers"),
        ('{"hidden_size": 1e300}', "config.json cannot be read"),
        (" " * (1 << 21), "at most 1048576 are taken"),
    ],
)
def test_a_folder_that_is_no_model_s(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(PlanError, match=said):
        known_shape(str(tmp_path))
