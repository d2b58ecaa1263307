"""What a training run asks of its bugs."""

from pathlib import Path

import pytest

from selfplay.believable import BelievableRules
from selfplay.commands.training.request import TrainOrder, curriculum_order
from selfplay.loop.config import load_config


@pytest.mark.parametrize(("settings", "rules"), [([], None), (["injector.believable=true"], BelievableRules())])
def test_the_gate_is_a_setting_that_the_paper_does_not_have(settings: list[str], rules: BelievableRules | None) -> None:
    config = load_config("tiny_cpu", ["model=somewhere", *settings])
    (repository,) = config.repositories
    assert curriculum_order(TrainOrder(config, Path("run")), repository).rules == rules
