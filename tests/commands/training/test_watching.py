"""After each step: a page, warnings once, a stop that holds when the run is resumed, TensorBoard or a refusal."""

import sys
from pathlib import Path
from typing import Any

import pytest

from selfplay.agent.model import ModelError
from selfplay.commands.training.watching import watching
from selfplay.loop.config import TrainConfig
from selfplay.loop.monitors import Collapsed

INVALID: dict[str, Any] = {"number": 0, "rollouts": {"injector": {"episodes": 4, "outcomes": {"invalid": 4}}}}
HEALTHY: dict[str, Any] = {"number": 0, "rollouts": {"injector": {"episodes": 4, "outcomes": {"valid": 4}}}}


class Heard:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.pages = 0

    def say(self, line: str) -> None:
        self.lines.append(line)

    def show(self, page: object) -> None:
        self.pages += 1


def config(**settings: Any) -> TrainConfig:
    return TrainConfig.model_validate({"source": "a", "model": "m", "play": {"context": 2048}, **settings})


def test_a_warning_is_said_when_it_begins(tmp_path: Path) -> None:
    """Windows of one step: healthy, two collapsed, healthy, one collapsed again."""
    history, heard = [HEALTHY, INVALID, INVALID, HEALTHY, INVALID], Heard()
    with watching(config(monitors={"window": 1}), tmp_path, [], heard) as stepped:
        for steps in range(1, len(history) + 1):
            stepped(history[:steps])
    assert heard.pages == 5 and len(heard.lines) == 2
    assert all(line.startswith("warning: invalid: 100% of the injections") for line in heard.lines)
    assert list(tmp_path.iterdir()) == []


def test_a_stop_holds_until_the_limit_is_another(tmp_path: Path) -> None:
    stops = config(monitors={"window": 1, "invalid": {"stop": True}})
    with pytest.raises(Collapsed, match="invalid"), watching(stops, tmp_path, [HEALTHY], Heard()) as stepped:
        stepped([HEALTHY, INVALID])
    with pytest.raises(Collapsed, match="invalid"), watching(stops, tmp_path, [HEALTHY, INVALID], Heard()):
        pass
    with watching(config(monitors={"window": 1}), tmp_path, [HEALTHY, INVALID], Heard()) as stepped:
        stepped([HEALTHY, INVALID, HEALTHY])


def test_without_tensorboard_a_run_that_wants_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    refused = pytest.raises(
        ModelError, match=r"tensorboard is not installed(.|\n)*pip install 'selfplay-swe\[tensorboard\]'"
    )
    with refused, watching(config(tensorboard=True), tmp_path, [], Heard()):
        pass
    assert list(tmp_path.iterdir()) == []
