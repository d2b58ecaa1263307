"""Errors of worlds and predictions. The reasons in a grade are values, in `reasons.py`."""

from selfplay.errors import SelfplayError


class WorldError(SelfplayError):
    """A solver's world cannot be built from its bug."""


class PredictionError(SelfplayError):
    """A prediction is not an acceptable diff; `reason` is the short name that a grade reports."""

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.reason = reason


class OracleError(SelfplayError):
    """A bug whose predictions cannot be graded, for example because its original fails its own tests."""
