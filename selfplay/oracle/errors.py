"""Errors of worlds and predictions. The reasons in a grade are values, in `grade.py`."""

from selfplay.errors import SelfplayError


class WorldError(SelfplayError):
    """A solver's world that cannot be built from its bug."""


class PredictionError(SelfplayError):
    """A prediction that cannot be taken as a diff; `reason` is the short name a grade reports."""

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.reason = reason


class OracleError(SelfplayError):
    """A bug for which no prediction can be graded: its original does not pass its own tests."""
