"""Errors of worlds and predictions. The reasons in a grade are values, in `reasons.py`."""

from collections.abc import Iterator
from contextlib import contextmanager

from selfplay.errors import SelfplayError
from selfplay.sandbox import SandboxLost


class WorldError(SelfplayError):
    """A solver's world cannot be built from its bug."""


class PredictionError(SelfplayError):
    """A prediction is not an acceptable diff; `reason` is the short name that a grade reports."""

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.reason = reason


class GradingLost(SandboxLost):
    """A sandbox was lost with a prediction in it, of a bug that is calibrated: a limit that it met is its own doing."""


@contextmanager
def with_prediction() -> Iterator[None]:
    """What a prediction may be to blame for is done in here. Raises `GradingLost` for a lost sandbox."""
    try:
        yield
    except SandboxLost as lost:
        raise GradingLost(lost.message, lost.hint, lost.cause) from lost


class OracleError(SelfplayError):
    """A bug whose predictions cannot be graded, for example because its original fails its own tests."""
