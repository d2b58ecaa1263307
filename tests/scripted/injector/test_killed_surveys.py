"""A survey whose suite somebody kills again and again is made again: nobody says that the suite cannot run."""

from typing import Any

import pytest

from selfplay.sandbox import SandboxLost
from selfplay.sandbox.kill_detection import PAUSES, ProgramKilled
from selfplay.scripted.injector import traced


class Anything:
    """A repository, suite or backend that is only handed on."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


ANY: Any = Anything()


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Every run is killed; holds whether each would have been believed."""
    seen: list[bool] = []

    def run(*_: object, believing: bool) -> str:
        seen.append(believing)
        if not believing:
            raise ProgramKilled("the suite was killed in its sandbox")
        return "believed"

    monkeypatch.setattr(traced, "_traced", run)
    monkeypatch.setattr(traced, "PAUSES", (0.0,) * len(PAUSES))
    return seen


def test_where_idle_programs_are_killed_too_the_survey_is_lost_and_says_nothing(
    kills: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the code before, the second kill ended the run: the suite cannot be run under coverage."""

    def dangerous(*_: object) -> None:
        raise SandboxLost("an idle program was killed too: something on this machine kills processes")

    monkeypatch.setattr(traced, "refuse_dangerous_place", dangerous)
    with pytest.raises(SandboxLost, match="an idle program was killed"):
        traced.trace(ANY, ANY, ANY)
    assert kills == [False] * len(PAUSES)


def test_where_they_live_the_suite_is_believed(kills: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced, "refuse_dangerous_place", lambda *_: None)
    found: Any = traced.trace(ANY, ANY, ANY)
    assert found == "believed"
    assert kills == [*[False] * len(PAUSES), True]
