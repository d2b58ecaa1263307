"""Work whose sandbox was lost is done again, with pauses, and not for ever."""

from collections.abc import Callable

import pytest

from selfplay.errors import SelfplayError
from selfplay.sandbox import Cause, MachineError, SandboxError, SandboxLost, retry
from selfplay.sandbox.retry import LIMITS, LOST_SANDBOXES, LimitMet, StillLost, again, pause_after


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSE", 0.0)


def test_the_pauses_grow_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PAUSE", 0.5)
    assert [pause_after(row) for row in range(1, 10)] == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_work_is_done_again() -> None:
    tries: list[int] = []
    told: list[SelfplayError] = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 4:
            raise SandboxLost("died")
        return "done"

    assert again(work, told.append) == "done" and len(told) == 3


def fails(error: SandboxError, tries: list[int]) -> Callable[[], None]:
    def work() -> None:
        tries.append(1)
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "kind", "times"),
    [
        (SandboxLost("died"), StillLost, LOST_SANDBOXES),
        (SandboxLost("memory", cause=Cause.LIMIT), LimitMet, LIMITS),
        (MachineError("refused"), MachineError, 1),  # it would refuse again
    ],
)
def test_but_not_for_ever(error: SandboxError, kind: type[Exception], times: int) -> None:
    tries: list[int] = []
    with pytest.raises(kind, match=error.message):
        again(fails(error, tries))
    assert len(tries) == times
