"""A step of a build is started again when something else may be why it failed, and only then."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.repository.building import build
from selfplay.repository.building.build import Building
from selfplay.sandbox import Completed

FAILED = Completed(1, b"no such package", b"", False, False, 0.1, 0.1)
DONE = replace(FAILED, exit_code=0, stdout=b"installed")


class Ending:
    """A sandbox whose commands end as told, and an index that does not answer while `away`."""

    def __init__(self, ends: Sequence[Completed], away: int = 0) -> None:
        self.ends, self.away, self.started = list(ends), away, 0
        self.proxy = SimpleNamespace(unreached=0)

    def run(self, *_: Any, **__: Any) -> Completed:
        self.started += 1
        self.proxy.unreached += self.started <= self.away
        return self.ends.pop(0)

    def leading(self, command: Any) -> Any:
        return command

    def log_line(self) -> str:
        return ""


def building(ending: Ending, log: Path, monkeypatch: pytest.MonkeyPatch) -> Building:
    monkeypatch.setattr(build, "AGAIN", (0.0, 0.0))
    return Building(None, ending, log, print, {}, egress=ending)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "failed",
    [
        replace(FAILED, killed_for_memory=True),
        replace(FAILED, stdout=b"tcp connect error: Connection refused (os error 111)"),
    ],
    ids=["a process of it was killed by the machine", "the process that forwards is gone"],
)
def test_what_something_else_disturbed_is_started_again(
    failed: Completed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment was stored without the step, for good."""
    ending = Ending([failed, DONE])
    assert building(ending, tmp_path / "log", monkeypatch).run("a step", ["pip"], online=True) == DONE


def test_an_index_that_comes_back_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Ending([FAILED, FAILED, DONE], away=2)
    assert building(ending, tmp_path / "log", monkeypatch).run("a step", ["pip"], online=True) == DONE


def test_an_index_that_stays_away_is_asked_once_by_each_later_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = Ending([FAILED] * 9, away=9)
    step = building(ending, tmp_path / "log", monkeypatch)
    assert step.run("a step", ["pip"], online=True) == FAILED and ending.started == 3
    assert step.run("another", ["pip"], online=True) == FAILED and ending.started == 4


@pytest.mark.parametrize("failed", [FAILED, replace(FAILED, killed_for_memory=True, over_memory=True)])
def test_what_fails_by_itself_is_not(failed: Completed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Ending([failed, DONE])
    assert building(ending, tmp_path / "log", monkeypatch).run("a step", ["pip"], online=True) == failed
