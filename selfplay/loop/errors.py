"""Errors of a training run that a user can mend."""

from selfplay.errors import SelfplayError


class TrainingError(SelfplayError):
    """An invalid configuration, or a run that cannot continue."""
